"""The published models, one package each."""

from tagcore.models.bmlpl.estimator import BMLPL
from tagcore.models.bomc.estimator import BOMC

__all__ = ["BMLPL", "BOMC"]
