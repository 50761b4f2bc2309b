"""The stop words are scikit-learn's, and are known without it."""

import subprocess
import sys

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tagcore.text import stop_words
from tagcore.text.stop_words import english_stop_words


def test_they_are_those_of_scikit_learn_which_is_not_imported():
    code = "import sys; from tagcore.text.stop_words import english_stop_words\n"
    code += "print(*sorted(english_stop_words())); assert 'sklearn' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(ENGLISH_STOP_WORDS)


def test_another_place_of_the_list_is_found(monkeypatch):
    monkeypatch.setattr(stop_words.importlib.util, "find_spec", lambda name: None)
    assert english_stop_words.__wrapped__() == ENGLISH_STOP_WORDS
