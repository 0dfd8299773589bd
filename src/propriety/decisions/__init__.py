"""What a forecast is worth to somebody who acts on it: counts at thresholds, curves, bounded measures, advice."""
