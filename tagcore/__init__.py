"""Tagflow's numerical library: corpora, features, models and measures, without orchestration or network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagcore.classifier import Classifier
    from tagcore.corpus import Corpus
    from tagcore.ratings import Ratings, UserTaggings
    from tagcore.recommender import Recommender
    from tagcore.tagger import Tagger

__all__ = ["Corpus", "Ratings", "UserTaggings", "load_model"]
_MODULES = {"Corpus": "tagcore.corpus", "Ratings": "tagcore.ratings", "UserTaggings": "tagcore.ratings"}


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
    if name in _MODULES:
        import importlib

        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'tagcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
