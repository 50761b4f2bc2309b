"""The published models, one package each, and the blend of them with others."""

from tagcore.models.blend.estimator import Blend
from tagcore.models.bmlpl.estimator import BMLPL
from tagcore.models.bomc.estimator import BOMC
from tagcore.models.pmm.estimator import PMM

__all__ = ["BMLPL", "BOMC", "PMM", "Blend"]
