"""Lines of relevance judgements, `TOPIC document 1`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.lines import (
    AFTER,
    BINARY,
    NEWLINE,
    NUMBER,
    TAG,
    count_byte,
    is_blank,
    line_end,
    noted,
    skip_blanks,
    token_end,
)
from tagcore.kernels.parsing.numbers import parse_whole


@njit(cache=True, nogil=True)
def _topic_end(data, at, end):
    """Where printable ASCII ends."""
    while at < end and 32 < data[at] < 127:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _parse_line(data, at, end):
    """(end of the topic, document, start of the last token, broken rule or 0)."""
    topic_end = _topic_end(data, at, end)
    if topic_end == at or (topic_end < end and not is_blank(data[topic_end])):
        return topic_end, -1, at, TAG
    token = skip_blanks(data, topic_end, end)
    document, at = parse_whole(data, token, end)
    if document < 0 or (at < end and not is_blank(data[at])):
        return topic_end, -1, token, NUMBER
    token = skip_blanks(data, at, end)
    if token == end or data[token] != 49 or (token + 1 < end and not is_blank(data[token + 1])):
        return topic_end, -1, token, BINARY
    token = skip_blanks(data, token + 1, end)
    return topic_end, document, token, (AFTER if token < end else 0)


@njit(cache=True, nogil=True)
def qrels_lines(data):
    """(lines, documents, starts, stops, bad): topics stand at data[start:stop]; blank lines do not count."""
    n_lines = count_byte(data, NEWLINE) + 1
    lines, documents = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    starts, stops = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    bad = np.empty((16, 6), np.int64)
    n, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        if end > start:
            stop, document, token, rule = _parse_line(data, start, end)
            if rule:
                bad = noted(bad, n_bad, (line, rule, token, token_end(data, token, end, True), start, end))
                n_bad += 1
            else:
                lines[n], documents[n], starts[n], stops[n] = line, document, start, stop
                n += 1
        start = after
    return lines[:n], documents[:n], starts[:n], stops[:n], bad[:n_bad]
