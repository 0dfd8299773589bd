"""Are the probabilities honest? PAV, reliability curves, decompositions, bands and tests."""
