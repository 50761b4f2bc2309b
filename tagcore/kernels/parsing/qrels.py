"""Lines of relevance judgements, `TOPIC document 1`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.lines import is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_whole
from tagcore.kernels.parsing.rows import note, room_for_rows
from tagcore.kernels.parsing.rules import AFTER, BINARY, NUMBER, TAG


@njit(cache=True, nogil=True)
def _topic_end(data, at, end):
    """Where printable ASCII ends."""
    while at < end and 32 < data[at] < 127:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _parse_line(data, at, end, longest):
    """(end of the topic, document, start of the last token, broken rule or 0)."""
    topic_end = _topic_end(data, at, end)
    if topic_end == at or topic_end - at > longest or (topic_end < end and not is_blank(data[topic_end])):
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
def qrels_lines(data, longest):
    """(lines, documents, starts, stops, bad): topics of at most so many bytes stand at data[start:stop]; blank lines
    do not count."""
    lines, _, _, bad = room_for_rows(data)
    documents, starts, stops = np.empty_like(lines), np.empty_like(lines), np.empty_like(lines)
    n, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        if end > start:
            stop, document, token, rule = _parse_line(data, start, end, longest)
            if rule:
                bad, n_bad = note(bad, n_bad, data, line, rule, token, True, start, end)
            else:
                lines[n], documents[n], starts[n], stops[n] = line, document, start, stop
                n += 1
        start = after
    return lines[:n], documents[:n], starts[:n], stops[:n], bad[:n_bad]
