"""Tagflow's numerical library: corpora, features, models and measures, without orchestration or network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagcore.corpus import Corpus, Ratings
    from tagcore.tagger import Tagger

__all__ = ["Corpus", "Ratings", "load_model"]


def load_model(folder: Any) -> "Tagger":
    """The stored tagger in a folder: takes raw text, loads no pickle."""
    from tagcore.tagger import Tagger

    return Tagger.load(folder)


def __getattr__(name: str) -> Any:
    # on demand, so that `import tagcore` alone stays light
    if name in ("Corpus", "Ratings"):
        import tagcore.corpus

        return getattr(tagcore.corpus, name)
    raise AttributeError(f"module 'tagcore' has no attribute {name!r}")
