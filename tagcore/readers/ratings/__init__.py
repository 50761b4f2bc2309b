"""Ratings of users and the tags they gave: MovieLens, HetRec, CiteULike's libraries, and tables of one's own."""

from tagcore.readers.ratings.files import holds_ratings
from tagcore.readers.ratings.source import RatingsSource

__all__ = ["RatingsSource", "holds_ratings"]
