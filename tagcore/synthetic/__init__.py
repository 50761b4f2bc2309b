"""Planted data whose right answer is known: tagged documents, news with given topics, ratings with tag profiles."""

from tagcore.synthetic.corpus import PlantedCorpus, delicious_shaped, demo_corpus
from tagcore.synthetic.newswire import PlantedNewswire, rcv1_shaped
from tagcore.synthetic.ratings import PlantedRatings

__all__ = ["PlantedCorpus", "PlantedNewswire", "PlantedRatings", "delicious_shaped", "demo_corpus", "rcv1_shaped"]
