"""The page of a report: nothing is loaded from elsewhere, nothing from outside is markup, nights are compared."""

import re
from html.parser import HTMLParser

from tasks.reporting.changes import Night, changes_since, note_night
from tasks.reporting.examples import TagExample
from tasks.reporting.page import PageFacts, Section, _decision, _example, sorting_table, write_text_page

EVIL = "<script>alert('x')</script>\"&"


class Structure(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


def test_what_comes_from_outside_is_text_and_nothing_is_loaded(tmp_path):
    facts = PageFacts(EVIL, [(EVIL, False, EVIL, EVIL)])
    example = TagExample(EVIL, [(EVIL, 0.5)], [EVIL])
    sections = [
        Section(EVIL, _decision(facts)),
        Section("Tags", sorting_table([EVIL, "f1"], [[EVIL, 0.25], ["b", 1.0]])),
        Section("Examples", _example(example)),
    ]
    text = write_text_page(EVIL, sections, tmp_path / "report.html").read_text()
    parsed = Structure()
    parsed.feed(text)
    assert parsed.tags.count("script") == 1  # ours, which sorts
    assert "alert('x')" not in re.sub(r"&\w+;|&#x27;", "", text)
    assert not [value for name, value in parsed.attributes if name in ("src", "href") and not value.startswith("data:")]
    assert "default-src 'none'" in text
    assert '<td class="bad">refused</td>' in text
    assert '<td data-value="0.25">0.250</td>' in text


def night(key, documents, quality, version):
    return Night(key, "nDCG@5", {"train": documents}, {"KNN": quality}, version)


def test_nights_are_compared_with_the_one_before_and_a_repetition_is_no_night(tmp_path):
    first, second = night("a", 100, 0.5, "1"), night("b", 1200, 0.6, "2")
    assert changes_since(tmp_path, first) == []
    note_night(tmp_path, first)
    assert changes_since(tmp_path, first) == []
    expected = [["train", "100", "1,200"], ["nDCG@5 of KNN", "0.5000", "0.6000"], ["version in service", "1", "2"]]
    assert changes_since(tmp_path, second) == expected
    note_night(tmp_path, second)
    assert changes_since(tmp_path, second) == expected  # the same night, run again
    note_night(tmp_path, second)
    assert changes_since(tmp_path, second) == expected
    third = Night("c", "P@1", {"train": 5}, {"Popular": 0.1}, None)
    assert changes_since(tmp_path, third) == [["train", "1,200", "5"], ["version in service", "2", "none"]]
