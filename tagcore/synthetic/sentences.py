"""Drawn words as English sentences: frames of a small grammar, some of every theme's own, filled as words come."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

# of the words of the themes, those that are not nouns; a word may stand in both lists
_VERBS = """
    simmer grill listen improvise swing observe launch focus orbit grow bloom cut ride climb sprint finish camp lock
    pump invest prowl protect swarm drive restore charge plug lift hook load press counter stretch import loop join
    assert mock merge commit fork shoot zoom pose smile crop develop pick plant water harvest taste mount
    """
_ADJECTIVES = "dark monthly fixed wild endangered vintage electric sharp junior"
_PROPER = "mars jupiter saturn mercury"
VERBS, ADJECTIVES, PROPER = (frozenset(words.split()) for words in (_VERBS, _ADJECTIVES, _PROPER))

# {n}, {n2}, … take nouns, {v} a verb, {a} an adjective; no noun governs a verb, so that it may be one or many
FRAMES = tuple(
    """
    I wrote down what I know about the {n} and the {n2}.
    Has anybody here had trouble with the {n}?
    We spent most of the week on the {n}, and a little of it on the {n2}.
    Nobody told me how much the {n} would matter.
    What you do about the {n} will decide about the {n2} as well.
    My neighbour swears by the {n}, but I would begin with the {n2}.
    Once you understand the {n}, you will never fear the {n2} again.
    After the {n} came the {n2}, and after that the {n3}.
    You should {v} before you look at the {n}.
    It took me three evenings to {v} as I had wanted to.
    They told us to {v} slowly and to mind the {n}.
    I had never seen such a {a} thing as this one.
    Try the {a} way first, then ask about the {n}.
    There is more about the {n} at the end, with a word on the {n2}.
    If the {n} did not work out, it was because of the {n2}.
    All that is left to say is about the {n}.
    """.strip().splitlines()
)
THEME_FRAMES = {
    "cooking": """
    Leave the {n} with the {n2} for an hour, then serve it warm.
    My grandmother put {n} into everything, even next to the {n2}.
    For four hungry guests you want plenty of {n} and hardly any {n2}.
    """,
    "music": """
    The first time I heard the {n} against the {n2}, I got goosebumps.
    Rehearse the {n} on its own, then together with the {n2}.
    The audience loved the {n}, and the {n2} even more.
    """,
    "astronomy": """
    Shortly after midnight we saw the {n} beside the {n2}.
    Through the eyepiece the {n} looked smaller than the {n2}.
    Scientists argue about the {n}, and so far the {n2} gives no answer.
    """,
    "gardening": """
    In April I put the {n} next to the {n2}, and it paid off.
    Slugs ate the {n}, so I covered the {n2} with a net.
    Wait until the frost is over before you touch the {n}.
    """,
    "cycling": """
    After sixty kilometres I thought about the {n} and nothing but the {n2}.
    Check the {n} every Sunday and the {n2} once in a month.
    Against the wind the {n} felt heavier than the {n2}.
    """,
    "finance": """
    Read the small print about the {n} before you sign for the {n2}.
    Our adviser compared the {n} with the {n2} over ten years.
    Put a tenth of the {n} aside, whatever happens to the {n2}.
    """,
    "wildlife": """
    At dawn we watched the {n} from behind the {n2}.
    Biologists counted the {n} and worried about the {n2}.
    Keep your distance from the {n}, most of all near the {n2}.
    """,
    "cars": """
    The mechanic replaced the {n} and had a look at the {n2}.
    At 120 kilometres an hour you hear the {n} before the {n2}.
    The dealer praised the {n} and kept quiet about the {n2}.
    """,
    "construction": """
    The foreman measured the {n} twice before he ordered the {n2}.
    Wear gloves when you handle the {n} above the {n2}.
    By Friday the {n} was in place, and the {n2} could follow.
    """,
    "football": """
    In the second half they relied on the {n} and forgot the {n2}.
    The manager spoke about the {n} after ninety minutes, not about the {n2}.
    Supporters sang about the {n} long after the {n2}.
    """,
    "programming": """
    The documentation explains the {n} but says nothing of the {n2}.
    I rewrote the {n} twice until the {n2} finally made sense.
    Never touch the {n} on a Friday, and the {n2} not at all.
    """,
    "photography": """
    Half a second was enough for the {n}, but not for the {n2}.
    I prefer the {n} in soft shade and the {n2} at noon.
    Look at the {n} before you press the button, then at the {n2}.
    """,
}
TITLES = (
    "On the {n} and the {n2}",
    "What I learnt about the {n}",
    "The {n}, the {n2} and I",
    "Notes about the {n}",
    "Ten words about the {n} and the {n2}",
    "A question about the {n} and the {n2}",
    "How to live with the {n}",
)
# where the nouns have run out
_WITHOUT_NOUN = {
    "v": ("It pays to {v} now and then.", "Remember to {v} tomorrow.", "In the end I decided to {v} all the same."),
    "a": ("What a {a} idea that was.", "It was a {a} day.", "Some call it {a}, and they are right."),
}
_SLOT = re.compile(r"(?:\b(the) )?\{([nva])\d?\}")
_MOST_TIMES = 2  # that one word is said in a text


class SentenceWriter:
    """Writes the words of a document as sentences; the same words and number give the same text."""

    def __init__(self, theme_of: Sequence[str], common: Iterable[str]) -> None:
        self._theme_of = theme_of  # by topic
        self._common = frozenset(common)  # which the frames bring along themselves
        self._frames = {theme: [*_lines(own), *_lines("\n".join(FRAMES))] for theme, own in THEME_FRAMES.items()}

    def text(self, words: Sequence[str], topic: int, number: int) -> str:
        """Pours the words into frames until all are used; the last ones may be used twice."""
        waiting = _by_kind(word for word in words if word not in self._common)
        frames = self._frames[self._theme_of[topic]]
        used = deque(waiting["n"], maxlen=5)
        sentences: list[str] = []
        step = number
        while any(waiting.values()) or not sentences:
            step = (step * 1103515245 + 12345) % 2**31
            frame = frames[step // 64 % len(frames)]
            if any(kind != "n" and not waiting[kind] for _, kind in _SLOT.findall(frame)):
                frame = frames[step // 64 % 3]  # of the theme's own, which want nouns alone
            if not waiting["n"] and (waiting["v"] or waiting["a"]):
                others = _WITHOUT_NOUN["v" if waiting["v"] else "a"]
                frame = others[step // 64 % len(others)]
            sentences.append(_fill(frame, waiting, used))
        cut = max(2, len(sentences) // 2 + number % 2)
        return (
            " ".join(sentences[:cut]) + "\n\n" + " ".join(sentences[cut:])
            if len(sentences) > 4
            else " ".join(sentences)
        )

    def title(self, words: Sequence[str], number: int) -> str:
        """Makes a title of a few words."""
        nouns = [word for word in dict.fromkeys(words) if word not in VERBS | ADJECTIVES | self._common]
        nouns = nouns or list(words)
        frames = [frame for frame in TITLES if frame.count("{") <= len(nouns)]
        return _fill(frames[number % len(frames)], {"n": deque(nouns)}, deque(nouns))


def _lines(frames: str) -> list[str]:
    return [line.strip() for line in frames.strip().splitlines()]


def _by_kind(words: Iterable[str]) -> dict[str, deque[str]]:
    kinds: dict[str, deque[str]] = {"n": deque(), "v": deque(), "a": deque()}
    said: Counter[str] = Counter()
    for word in words:
        said[word] += 1
        if said[word] <= _MOST_TIMES:
            kinds["v" if word in VERBS else "a" if word in ADJECTIVES else "n"].append(word)
    return kinds


def _fill(frame: str, waiting: dict[str, deque[str]], used: deque[str]) -> str:
    """Fills one frame; a noun does not meet itself where there is another."""
    taken: list[str] = []

    def word(slot: re.Match) -> str:
        line = waiting[slot[2]]
        for _ in range(len(line)):
            if line[0] not in taken:
                break
            line.rotate(-1)
        chosen = line.popleft() if line else next((w for w in used if w not in taken), used[0] if used else "thing")
        taken.append(chosen)
        if chosen in PROPER:
            return chosen.title()
        return f"{slot[1]} {chosen}" if slot[1] else chosen

    said = _SLOT.sub(word, frame)
    return said[0].upper() + said[1:]
