"""Linear models, one weight vector per tag."""
