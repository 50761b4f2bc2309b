"""Measures of tagging on sparse truth, and of ratings; intervals and paired tests. `catalogue` names each once."""
