"""Deployed models period by period or case by case, with a bound on the probability of false alarms."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("monitor:monitor",),
    results=("monitor:Monitored",),
    pictures=("picture",),
    commands=("command:monitor",),
    schemas={"monitor": 1},
)
