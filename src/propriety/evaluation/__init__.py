"""`evaluate`: many models, rules and groups in one call, and its result."""
