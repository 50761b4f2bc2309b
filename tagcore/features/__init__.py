"""From a stored corpus to rows: the corpus read in row groups, split into sides, turned into word weights and tags.

What the columns of a document are: `tagcore/text/vectoriser.py`.
"""
