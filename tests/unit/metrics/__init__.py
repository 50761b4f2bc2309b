"""Measures against scikit-learn and against counting by hand."""
