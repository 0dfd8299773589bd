"""What a sample says about the next one: moments of losses, intervals, comparisons, monitoring."""
