"""Texts to features: HTML stripped, words read, vocabulary chosen, tf-idf rows."""

from typing import TYPE_CHECKING

from tagcore.on_demand import names_on_demand

if TYPE_CHECKING:
    from tagcore.text.vectoriser import Vectoriser

__all__ = ["Vectoriser"]

__getattr__ = names_on_demand(__name__, __file__)
