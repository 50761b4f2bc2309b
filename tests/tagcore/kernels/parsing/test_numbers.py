"""Numbers out of bytes: equal to Python's float, then numpy's float32, for every spelling."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagcore.kernels.parsing.numbers import parse_number, parse_whole

LARGEST = float(np.finfo(np.float32).max)


def parse(text: str) -> tuple[float, int, bool]:
    data = np.frombuffer(text.encode(), np.uint8)
    return parse_number(data, 0, data.size)


def check(text: str) -> None:
    value, end, fine = parse(text)
    exact = float(text)
    if abs(exact) > LARGEST * (1 + 2**-48):
        assert not fine
        return
    assert fine
    assert end == len(text)
    if not np.isnan(value):  # left to the caller
        assert np.float32(value) == np.float32(exact)


@settings(deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["{!r}", "{:e}", "{:.6f}", "{:.25g}", "+{!r}"])
)
@example(1.401298464324817e-45, "{!r}")
@example(7.006492321624085e-46, "{!r}")
@example(LARGEST, "{!r}")
@example(3.4028235677973366e38, "{!r}")
def test_every_spelling_of_a_double(number: float, spelling: str) -> None:
    check(spelling.format(number).replace("+-", "-"))


@settings(deadline=None)
@given(st.integers(0, 10**40), st.integers(0, 10**40), st.integers(-400, 400), st.booleans())
def test_long_digits_and_exponents(whole: int, fraction: int, power: int, upper: bool) -> None:
    check(f"{whole}.{fraction}{'E' if upper else 'e'}{power}")
    check(f"{whole}.")
    check(f".{fraction}")


def test_a_number_in_the_middle_of_two_is_left_open() -> None:
    middle = (float(np.float32(1)) + float(np.nextafter(np.float32(1), np.float32(2)))) / 2
    value, _, fine = parse(f"{middle:.30f}")
    assert fine
    assert np.isnan(value)


def test_few_numbers_are_left_open() -> None:
    rng = np.random.default_rng(0)
    left = sum(np.isnan(parse(repr(x))[0]) for x in rng.normal(size=2000))
    assert left == 0


@pytest.mark.parametrize("text", ["", "-", "+", ".", "e5", "nan", "inf", "-inf", "1e", "1e+", "1e39", "9" * 50, "x"])
def test_what_is_no_finite_number(text: str) -> None:
    assert not parse(text)[2]


@pytest.mark.parametrize(("text", "value", "end"), [("12,3", 12, 2), ("", -1, 0), ("x", -1, 0), ("9" * 19, -1, 19)])
def test_whole_numbers(text: str, value: int, end: int) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    assert parse_whole(data, 0, data.size) == (value, end)
