"""How many cases a study needs."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("plan:plan",),
    results=("plan:Plan",),
    pictures=("picture",),
    commands=("command:plan",),
    schemas={"plan": 1},
)
