"""What a sample says about the next one: measures, estimates, comparisons, groups, monitoring."""
