"""Texts to features: HTML stripped, words found, vocabulary chosen, tf-idf rows."""

from tagcore.text.vectoriser import Vectoriser

__all__ = ["Vectoriser"]
