"""Baselines that predict ratings. A new one is a file here (a `RatingModel` of `tagcore/rating_model.py`), and a line
here and in the `__init__` above."""

from tagcore.baselines.ratings.biases import DampedBiases
from tagcore.baselines.ratings.item_knn import ItemKNN
from tagcore.baselines.ratings.means import ItemMean, UserMean
from tagcore.baselines.ratings.popularity import PopularItems

__all__ = ["DampedBiases", "ItemKNN", "ItemMean", "PopularItems", "UserMean"]
