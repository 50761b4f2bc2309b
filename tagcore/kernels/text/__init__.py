"""Tokens, terms, n-grams and word weights, in numba."""
