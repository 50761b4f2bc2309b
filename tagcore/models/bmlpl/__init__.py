"""BMLPL: Bayesian multi-label learning via positive labels (NIPS 2015)."""
