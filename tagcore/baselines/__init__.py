"""What users would pick instead of a published model, behind the same interface."""

from tagcore.baselines.knn import KNN
from tagcore.baselines.linear import OneVsRestLinear
from tagcore.baselines.logistic import OneVsRestLogistic
from tagcore.baselines.passive_aggressive import PassiveAggressive
from tagcore.baselines.popular import Popular
from tagcore.baselines.ridge import Ridge
from tagcore.baselines.similarity import VectorSimilarity

__all__ = ["KNN", "OneVsRestLinear", "OneVsRestLogistic", "PassiveAggressive", "Popular", "Ridge", "VectorSimilarity"]
