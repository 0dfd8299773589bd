"""Scoring rules: their definition, the catalogue, the scores they give, and the audit."""
