"""What users would pick instead of a published model, behind the same interface."""

from tagcore.baselines.knn import KNN
from tagcore.baselines.linear import OneVsRestLinear
from tagcore.baselines.popular import Popular

__all__ = ["KNN", "OneVsRestLinear", "Popular"]
