"""How well a learner's model would forecast new cases, from the cases that it is fitted to."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("validate:validate",),
    results=("validate:Validation",),
    pictures=("picture",),
)
