"""Where bytes stop being UTF-8 text."""

from numba import njit


@njit(cache=True, nogil=True)
def _continues(data, at, end, n, low, high):
    """Whether n bytes follow as a sequence needs them, the first of them from `low` to `high`."""
    if end - at < n:
        return False
    fine = low <= data[at] <= high
    for k in range(at + 1, at + n):
        fine = fine and data[k] & 0xC0 == 0x80
    return fine


@njit(cache=True, nogil=True)
def utf8_flaw(data, at, end):
    """The place of the first byte of data[at:end] that is no UTF-8 (RFC 3629), or -1."""
    while at < end:
        byte = data[at]
        n, low, high = 0, 0x80, 0xBF
        if byte >= 0x80:
            if byte < 0xC2 or byte > 0xF4:
                return at
            n = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            # no second way to write a character, no surrogates, nothing beyond U+10FFFF
            if byte == 0xE0:
                low = 0xA0
            elif byte == 0xED:
                high = 0x9F
            elif byte == 0xF0:
                low = 0x90
            elif byte == 0xF4:
                high = 0x8F
            if not _continues(data, at + 1, end, n, low, high):
                return at
        at += n + 1
    return -1
