"""Planted data whose right answer is known: tagged documents, news with given topics, ratings with tag profiles."""
