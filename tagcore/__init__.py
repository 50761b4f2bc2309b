"""Tagflow's numerical library: corpora, features, models and measures, without orchestration or network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagcore.classifier import Classifier
    from tagcore.corpus import Corpus
    from tagcore.ratings import Ratings
    from tagcore.recommender import Recommender
    from tagcore.tagger import Tagger

__all__ = ["Corpus", "Ratings", "load_model"]


def load_model(folder: Any) -> "Tagger | Recommender | Classifier":
    """The model that a folder holds: a tagger takes raw text, a recommender names of users, a classifier rows of
    numbers. No pickle is loaded."""
    from tagcore.classifier import Classifier
    from tagcore.recommender import Recommender
    from tagcore.store.datasets import stored_kind
    from tagcore.tagger import Tagger

    kinds: dict[str | None, type[Recommender] | type[Classifier]] = {
        "recommender": Recommender,
        "classifier": Classifier,
    }
    return kinds.get(stored_kind(folder), Tagger).load(folder)


def __getattr__(name: str) -> Any:
    # on demand, so that `import tagcore` alone stays light
    if name in ("Corpus", "Ratings"):
        import importlib

        return getattr(importlib.import_module(f"tagcore.{name.lower()}"), name)
    raise AttributeError(f"module 'tagcore' has no attribute {name!r}")
