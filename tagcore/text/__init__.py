"""Texts to features: HTML stripped, words found, vocabulary chosen, tf-idf rows."""

from tagcore.text.html import strip_html, strip_html_column
from tagcore.text.parameters import PythonAnalyserWarning
from tagcore.text.saving import VectoriserError
from tagcore.text.vectoriser import Vectoriser

__all__ = ["PythonAnalyserWarning", "Vectoriser", "VectoriserError", "strip_html", "strip_html_column"]
