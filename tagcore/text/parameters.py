"""The parameters of a vectoriser: what they may be, and the analysis that they ask for."""

import re
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from tagcore.text.analysis import Analysis, character_analysis, python_analysis, word_analysis
from tagcore.text.document_fields import are_fields
from tagcore.text.stemming import Stemmer, languages, stemmer_of
from tagcore.text.stop_words import english_stop_words
from tagcore.text.tokens import TOKEN_PATTERN
from tagcore.text.weighting import NORMS


class PythonAnalyserWarning(UserWarning):
    """Texts are analysed in Python, one by one, because the settings have no fast path."""


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_width(value: Any) -> bool:
    return _is_count(value) and int(value) <= np.iinfo(np.int32).max


def _is_frequency(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1)


def _is_range(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_count, value)) and value[0] <= value[1]


def _is_stop_list(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value in (None, "english")
    return isinstance(value, list | tuple | set | frozenset) and all(isinstance(word, str) for word in value)


def _is_pattern(value: Any) -> bool:
    try:
        return re.compile(value).groups <= 1
    except (re.error, TypeError):
        return False


def _is_float_type(value: Any) -> bool:
    try:
        return np.dtype(value) in (np.float32, np.float64)
    except TypeError:
        return False


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: any(value is v or (isinstance(value, str) and value == v) for v in values)


_RULES: dict[str, tuple[Callable[[Any], bool], str | Callable[[], str]]] = {
    "min_df": (_is_frequency, "a number of documents from 1, or a share of them from 0.0 to 1.0"),
    "max_df": (_is_frequency, "a number of documents from 1, or a share of them from 0.0 to 1.0"),
    "max_features": (lambda value: value is None or _is_count(value), "None or a number from 1"),
    "max_features_by": (_one_of("tf", "df"), "'tf', how often a term is there, or 'df', in how many documents"),
    "hashed_columns": (lambda value: value is None or _is_width(value), "None or a number from 1 to 2**31 - 1"),
    "ngram_range": (_is_range, "(shortest, longest), both from 1, the longest not below the shortest"),
    "stop_words": (_is_stop_list, "None, 'english' or a list of words"),
    "stem": (
        lambda value: value is None or (isinstance(value, str) and value in languages()),
        lambda: f"None or a Snowball language: {', '.join(languages())}",
    ),
    "token_pattern": (_is_pattern, "a regular expression with at most one group"),
    "strip_accents": (
        lambda value: callable(value) or _one_of(None, "ascii", "unicode")(value),
        "None, 'ascii', 'unicode' or a function",
    ),
    "analyzer": (
        lambda value: callable(value) or _one_of("word", "char", "char_wb")(value),
        "'word', 'char', 'char_wb' or a function",
    ),
    "norm": (_one_of(*NORMS), "None, 'l1' or 'l2'"),
    "dtype": (_is_float_type, "float32 or float64"),
    "lowercase": (_one_of(True, False), "True or False"),
    "binary": (_one_of(True, False), "True or False"),
    "use_idf": (_one_of(True, False), "True or False"),
    "smooth_idf": (_one_of(True, False), "True or False"),
    "sublinear_tf": (_one_of(True, False), "True or False"),
    "fields": (are_fields, "None or weights above 0 by the names of fields, such as {'title': 4, 'text': 1}"),
    "own_columns": (_are_names, "a list of fields"),
}


def check_parameters(params: dict[str, Any]) -> None:
    """Raises ValueError that names the first parameter out of its range, its value and what was expected."""
    for name, (is_right, expected) in _RULES.items():
        if not is_right(params[name]):
            told = expected() if callable(expected) else expected
            raise ValueError(f"{name}={params[name]!r:.80}: expected {told}")
    for name in ("stem", "stop_words"):
        if params[name] is not None and params["analyzer"] != "word":
            raise ValueError(f"{name}={params[name]!r:.80}: expected analyzer='word', got {params['analyzer']!r:.80}")
    if params["hashed_columns"] is not None:
        _check_hashing(params)

    fields = params["fields"]
    if other := [name for name in params["own_columns"] if name not in (fields or ())]:
        names = ", ".join(fields) if fields else "of which none are named"
        raise ValueError(f"own_columns has {other[0]!r:.80}: expected one of the fields, {names}")
    if params["sublinear_tf"] and fields and min(fields.values()) < 1:
        raise ValueError(f"fields has the weight {min(fields.values())}: expected 1 or more with sublinear_tf")


def _check_hashing(params: dict[str, Any]) -> None:
    """Raises ValueError for what only makes sense where terms are learnt, or known."""
    nothing_to_choose = {"min_df": 1, "max_df": 1.0, "max_features": None, "vocabulary": None}
    for name, value in nothing_to_choose.items():
        if params.get(name) != value:
            raise ValueError(
                f"{name}={params[name]!r:.80}: expected {value} with hashed_columns, which take every term"
            )
    if params["use_idf"] and not params["smooth_idf"]:
        raise ValueError("smooth_idf=False: expected True with hashed_columns, of which some are in no document")


def build_analysis(params: dict[str, Any]) -> Analysis:
    """Gives the analysis of checked parameters: by the kernel if it can, by Python otherwise."""
    stemmer = stemmer_of(params["stem"]) if params["stem"] is not None else None
    if _python_reasons(params):
        return python_analysis(_python_analyser(params, stemmer))
    shortest, longest = map(int, params["ngram_range"])
    if params["analyzer"] == "char_wb":
        return character_analysis(params["lowercase"], (shortest, longest))
    return word_analysis(params["lowercase"], _stop_words(params), stemmer, (shortest, longest))


def warn_if_python(params: dict[str, Any]) -> None:
    """Warns which parameters have no fast path."""
    reasons = _python_reasons(params)
    if reasons:
        message = f"no fast path for {', '.join(reasons)}: texts are analysed in Python, one by one"
        warnings.warn(message, PythonAnalyserWarning, stacklevel=4)


def _python_reasons(params: dict[str, Any]) -> list[str]:
    usual = {"token_pattern": TOKEN_PATTERN, "strip_accents": None}
    if params["analyzer"] == "char_wb":
        del usual["token_pattern"]  # which is of words
    else:
        usual["analyzer"] = "word"
    return [f"{name}={params[name]!r:.80}" for name, value in usual.items() if params[name] != value]


def _stop_words(params: dict[str, Any]) -> frozenset[str]:
    words = params["stop_words"]
    return english_stop_words() if words == "english" else frozenset(words or ())


def _python_analyser(params: dict[str, Any], stemmer: Stemmer | None) -> Callable[[str], list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    names = ("analyzer", "lowercase", "strip_accents", "token_pattern", "ngram_range")
    peer = CountVectorizer(**{name: params[name] for name in names})
    stop_words = _stop_words(params)
    if stemmer is None:
        return peer.set_params(stop_words=list(stop_words) or None).build_analyzer()
    find = peer.build_tokenizer()

    def stems(text: str) -> list[str]:
        return stemmer([word for word in find(text) if word not in stop_words])

    return peer.set_params(tokenizer=stems, token_pattern=None).build_analyzer()
