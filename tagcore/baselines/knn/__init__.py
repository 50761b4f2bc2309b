"""k nearest neighbours on an inverted index."""
