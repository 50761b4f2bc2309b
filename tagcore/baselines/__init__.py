"""Models that users would pick instead of a published one, behind the same interface. A new one is a file here,
and its name in the import and in `__all__` below, from which `tagcore.on_demand` learns what there is."""

from typing import TYPE_CHECKING

from tagcore.on_demand import names_on_demand

if TYPE_CHECKING:
    from tagcore.baselines.gaussian_process.gpla import GPLA
    from tagcore.baselines.gaussian_process.ivm import IVM
    from tagcore.baselines.gaussian_process.svm import KernelSVM
    from tagcore.baselines.gaussian_process.vbgp import VBGP
    from tagcore.baselines.knn.estimator import KNN
    from tagcore.baselines.lasvm.estimator import LaSVM
    from tagcore.baselines.leml.estimator import LEML
    from tagcore.baselines.linear.logistic import OneVsRestLogistic
    from tagcore.baselines.linear.one_vs_rest import OneVsRestLinear
    from tagcore.baselines.linear.passive_aggressive import PassiveAggressive
    from tagcore.baselines.linear.ridge import Ridge
    from tagcore.baselines.low_rank.bcs import BCS
    from tagcore.baselines.low_rank.cplst import CPLST
    from tagcore.baselines.low_rank.wsabie import WSABIE
    from tagcore.baselines.popular import Popular
    from tagcore.baselines.ratings import DampedBiases, ItemKNN, ItemMean, PopularItems, UserMean
    from tagcore.baselines.simfusion import SimFusion
    from tagcore.baselines.vector_similarity import VectorSimilarity

__all__ = [
    "BCS",
    "CPLST",
    "GPLA",
    "IVM",
    "KNN",
    "LEML",
    "VBGP",
    "WSABIE",
    "DampedBiases",
    "ItemKNN",
    "ItemMean",
    "KernelSVM",
    "LaSVM",
    "OneVsRestLinear",
    "OneVsRestLogistic",
    "PassiveAggressive",
    "Popular",
    "PopularItems",
    "Ridge",
    "SimFusion",
    "UserMean",
    "VectorSimilarity",
]

__getattr__ = names_on_demand(__name__, __file__)
