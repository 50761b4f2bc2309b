"""Baselines that predict ratings from means and biases alone."""
