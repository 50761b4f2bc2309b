"""Texts to features: HTML stripped, words read, vocabulary chosen, tf-idf rows."""

from tagcore.text.vectoriser import Vectoriser

__all__ = ["Vectoriser"]
