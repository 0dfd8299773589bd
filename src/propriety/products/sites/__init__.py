"""Measures of every site, their mean over sites, and their range in a further site."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("pooling:pool_sites", "curve:pooled_curve"),
    results=("curve:PooledCurve",),
    pictures=("picture",),
)
