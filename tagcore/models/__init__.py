"""The published models, one package each."""

from tagcore.models.bmlpl.estimator import BMLPL
from tagcore.models.bomc.estimator import BOMC
from tagcore.models.pmm.estimator import PMM
from tagcore.models.sgps.estimator import SGPS

__all__ = ["BMLPL", "BOMC", "PMM", "SGPS"]
