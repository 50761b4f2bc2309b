"""ARFF with the labels of Mulan or MEKA."""
