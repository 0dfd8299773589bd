"""What a rule is, the rules, the catalogue, the scores they give, and the audit."""
