"""Many models, rules and groups in one call: `evaluate`, and what it returns."""
