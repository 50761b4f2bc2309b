"""What headers say of storing a page."""

import pytest

from tagcore.readers.web.robots_tag import joined_tag, may_be_stored


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([], True),
        (["noindex"], False),
        (["NONE"], False),
        (["noindex", "noarchive"], False),
        (["noarchive", "nofollow,  noindex"], False),
        (["noindex nofollow"], False),
        (["noindexes, nonesuch"], True),
        (["otherbot: noindex"], True),
        (["otherbot: nofollow, noindex"], True),
        (["otherbot: noindex", "noindex"], False),
        (["otherbot: noindex, tagflow: nofollow"], True),
        (["otherbot: nofollow, Tagflow: noindex"], False),
        (["unavailable_after: 25 Jun 2040 15:00:00 PST, noindex"], False),
        (["max-image-preview: none"], True),
    ],
)
def test_all_headers_count_for_those_they_are_for(values, stored):
    headers = [("Content-Type", "text/html"), *(("X-Robots-Tag", value) for value in values)]
    assert may_be_stored(joined_tag(headers)) is stored
