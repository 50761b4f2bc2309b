"""Tagflow's numerical library: corpora, features, models and measures, without orchestration or network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagcore.corpus import Corpus
    from tagcore.ratings import Ratings
    from tagcore.recommender import Recommender
    from tagcore.tagger import Tagger

__all__ = ["Corpus", "Ratings", "load_model"]


def load_model(folder: Any) -> "Tagger | Recommender":
    """The model that a folder holds, a tagger or a recommender: takes raw text or names of users, loads no pickle."""
    from tagcore.recommender import Recommender
    from tagcore.store.datasets import stored_kind
    from tagcore.tagger import Tagger

    return Recommender.load(folder) if stored_kind(folder) == "recommender" else Tagger.load(folder)


def __getattr__(name: str) -> Any:
    # on demand, so that `import tagcore` alone stays light
    if name in ("Corpus", "Ratings"):
        import importlib

        return getattr(importlib.import_module(f"tagcore.{name.lower()}"), name)
    raise AttributeError(f"module 'tagcore' has no attribute {name!r}")
