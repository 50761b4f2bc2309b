"""BOMC: Bayesian online multi-label classification (AISTATS 2010)."""
