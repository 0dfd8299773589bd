"""Statistical inference: measures, estimates, comparisons and groups."""
