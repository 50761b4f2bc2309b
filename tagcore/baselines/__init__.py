"""What users would pick instead of a published model, behind the same interface."""

from tagcore.baselines.bcs import BCS
from tagcore.baselines.cplst import CPLST
from tagcore.baselines.knn import KNN
from tagcore.baselines.lasvm import LaSVM
from tagcore.baselines.leml import LEML
from tagcore.baselines.linear import OneVsRestLinear
from tagcore.baselines.logistic import OneVsRestLogistic
from tagcore.baselines.passive_aggressive import PassiveAggressive
from tagcore.baselines.popular import Popular
from tagcore.baselines.ridge import Ridge
from tagcore.baselines.similarity import VectorSimilarity
from tagcore.baselines.wsabie import WSABIE

__all__ = [
    "BCS",
    "CPLST",
    "KNN",
    "LEML",
    "WSABIE",
    "LaSVM",
    "OneVsRestLinear",
    "OneVsRestLogistic",
    "PassiveAggressive",
    "Popular",
    "Ridge",
    "VectorSimilarity",
]
