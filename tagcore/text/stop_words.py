"""English stop words, scikit-learn's, without its import where that is not needed."""

import importlib.util
import runpy
from functools import cache
from pathlib import Path


@cache
def english_stop_words() -> frozenset[str]:
    """Gives scikit-learn's list; from the file that holds it, as all around it takes a second to import."""
    spec = importlib.util.find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        file = Path(spec.origin).parent / "feature_extraction" / "_stop_words.py"
        if file.is_file():
            words = runpy.run_path(str(file)).get("ENGLISH_STOP_WORDS")
            if words:
                return frozenset(words)
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return ENGLISH_STOP_WORDS
