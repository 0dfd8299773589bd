"""Measures of every site, their mean over sites, and their range in a further site."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("pooling:meta_analysis",),
    results=("pooling:MetaAnalysis", "pooling:SiteEstimates"),
    pictures=("picture",),
)
