"""LEML: low-rank empirical risk minimisation for many tags."""
