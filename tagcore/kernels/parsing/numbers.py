"""Decimal numbers out of bytes, rounded as Python and numpy round them."""

import numpy as np
from numba import njit

_POWERS = np.array([float(f"1e{k}") for k in range(81)])
_LARGEST = float(np.finfo(np.float32).max)
_SLACK = 2.0**-50  # a bound on the relative error of a product or quotient that is not exact
_DIGITS = 18  # as many as an int64 holds, whichever they are


@njit(cache=True, nogil=True)
def parse_whole(data, at, end):
    """(value, next position): the digits from `at` on; the value is -1 where there are none or too many."""
    value = 0
    start = at
    while at < end and 48 <= data[at] <= 57:
        value = value * 10 + (data[at] - 48)
        at += 1
    return (value if 0 < at - start <= _DIGITS else -1), at


@njit(cache=True, nogil=True, error_model="numpy")
def parse_number(data, at, end):
    """(float32, next position, whether it is a finite number of single precision).

    NaN stands for a number so close to the middle of two float32 that only exact arithmetic can round it.
    """
    negative = at < end and data[at] == 45
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    start, mantissa = at, 0
    while at < end and 48 <= data[at] <= 57:
        mantissa = mantissa * 10 + (data[at] - 48)
        at += 1
    digits, exponent = at - start, 0
    if at < end and data[at] == 46:
        at += 1
        point = at
        while at < end and 48 <= data[at] <= 57:
            mantissa = mantissa * 10 + (data[at] - 48)
            at += 1
        digits += at - point
        exponent = point - at
    if digits == 0:
        return np.float32(0), at, False
    exact = digits <= _DIGITS
    if not exact:
        mantissa, exponent, exact = _leading_digits(data, start, at)
    if at < end and (data[at] == 101 or data[at] == 69):
        power, at, fine = _parse_power(data, at + 1, end)
        if not fine:
            return np.float32(0), at, False
        exponent += power
    if mantissa == 0 or exponent < -80:  # below half of the smallest float32
        return np.float32(0), at, True
    if exponent > 60:
        return np.float32(0), at, False
    value = mantissa * _POWERS[exponent] if exponent >= 0 else mantissa / _POWERS[-exponent]
    if value > _LARGEST:
        if value > _LARGEST * (1 + _SLACK):
            return np.float32(0), at, False
        value = _LARGEST
    if negative:
        value = -value
    # up to these bounds both operands are exact, so the one operation rounds correctly
    if not exact or mantissa > 9007199254740992 or exponent < -22 or exponent > 22:
        low, high = np.float32(value * (1 - _SLACK)), np.float32(value * (1 + _SLACK))
        if low != high:
            return np.float32(np.nan), at, True
    return np.float32(value), at, True


@njit(cache=True, nogil=True)
def _leading_digits(data, at, end):
    """(mantissa, exponent, whether nothing was lost) of digits with at most one point among them."""
    mantissa, exponent, kept, exact, fraction = 0, 0, 0, True, False
    for i in range(at, end):
        if data[i] == 46:
            fraction = True
            continue
        digit = data[i] - 48
        if kept < _DIGITS:
            mantissa = mantissa * 10 + digit
            kept += mantissa > 0
            exponent -= fraction
        else:
            exact = exact and digit == 0
            exponent += not fraction
    return mantissa, exponent, exact


@njit(cache=True, nogil=True)
def _parse_power(data, at, end):
    """(exponent, next position, whether there is one), cut off where it makes any number 0 or infinite."""
    negative = at < end and data[at] == 45
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    start, power = at, 0
    while at < end and 48 <= data[at] <= 57:
        power = min(power * 10 + (data[at] - 48), 1_000_000_000)
        at += 1
    return (-power if negative else power), at, at > start
