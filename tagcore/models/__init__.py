"""The published models, one module each."""

from tagcore.models.bmlpl import BMLPL
from tagcore.models.bomc import BOMC

__all__ = ["BMLPL", "BOMC"]
