"""MMSG: tag suggestion by a Gaussian process over categories of documents (CIKM 2008)."""
