"""Why a model gave a tag to a document: what each of its words did to the score, and how sure the model is of that."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Explanation:
    """How the words of one document moved the score of one tag.

    The bias and the sum of all pushes make the score, its numerator where the score is a ratio, or its logarithm.
    """

    words: np.ndarray  # their ids
    push: np.ndarray  # signed
    spread: np.ndarray | None  # the standard deviation of each push, where the model knows how sure it is
    bias: float  # the part that no word has
    fallback: str = ""  # why no word decided, where none did


@dataclass(frozen=True)
class TopicChoice:
    """The most probable topic of a document, and what each word did to ln (its probability / that of the next one)."""

    topic: int
    probability: float
    runner_up: int | None  # None where there is one topic alone
    tags: np.ndarray  # the first ones of the topic
    words: np.ndarray
    push: np.ndarray
    bias: float  # what lengths, sizes and shares of topics did; with all pushes the logarithm
    fallback: str = ""  # why no word decided, where none did


class NamedTopic(NamedTuple):
    """A `TopicChoice` by the names of its words and tags."""

    topic: int
    probability: float
    runner_up: int | None
    tags: list[str]
    words: list["WordPush"]  # strongest first, the bias last
    fallback: str


class WordPush(NamedTuple):
    """The push of one word on the score of a tag; `word` is None for the bias, which may say why no word decided."""

    word: str | None
    push: float
    spread: float | None
    fallback: str = ""


def pushes(explanation: Explanation | TopicChoice, terms: np.ndarray) -> list[WordPush]:
    """Names the words of an explanation, strongest push first, ties in the order of words; the bias comes last."""
    order = np.argsort(-np.abs(explanation.push), kind="stable")
    spread = getattr(explanation, "spread", None)
    by_word = [
        WordPush(
            str(terms[explanation.words[i]]), float(explanation.push[i]), None if spread is None else float(spread[i])
        )
        for i in order
    ]
    return [*by_word, WordPush(None, float(explanation.bias), None, explanation.fallback)]
