"""SGPS: sparse multi-class Gaussian process classification with prototype selection (CIKM 2008)."""
