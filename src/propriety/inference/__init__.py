"""Statistical inference: measures, estimates, comparisons, groups and monitoring."""
