"""The products: what people come for, each a folder with all that is its own, which can be cut out."""

# What is below reaches a product through this list, by name (`propriety.upward.products`). No product imports another.
PRODUCTS = ("monitoring", "segments", "sites", "late_labels", "planning", "validation")
