"""Baselines that predict ratings. A new one is a file here, and a line here and in the `__init__` above."""

from tagcore.baselines.ratings.biases import DampedBiases
from tagcore.baselines.ratings.means import ItemMean, UserMean

__all__ = ["DampedBiases", "ItemMean", "UserMean"]
