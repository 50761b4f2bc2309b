"""Graphs of documents, tags and words."""
