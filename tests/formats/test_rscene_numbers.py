"""Numbers of `.rscene`: the rule of std::to_chars and std::from_chars."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.formats.rscene.numbers import (
    check_floats,
    float_from_text,
    floats_from_text,
    int_from_text,
    ints_from_text,
    text_from_float,
    text_from_floats,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Spelled by std::to_chars of libstdc++ 12.2.
HARD_DOUBLES = [
    (0.0, "0"),
    (-0.0, "-0"),
    (1.0, "1"),
    (0.1, "0.1"),
    (1e-07, "1e-07"),
    (0.0001, "1e-04"),
    (0.0008, "8e-04"),
    (0.0005, "5e-04"),
    (-0.0006, "-6e-04"),
    (0.00065, "0.00065"),
    (0.001, "0.001"),
    (0.000047761, "4.7761e-05"),
    (10000.0, "10000"),
    (1e5, "1e+05"),
    (1e6, "1e+06"),
    (-1e6, "-1e+06"),
    (1200000.0, "1200000"),
    (123456.0, "123456"),
    (2.0**64, "18446744073709551616"),
    (123456789012345680000.0, "123456789012345683968"),
    (105 / 255, "0.4117647058823529"),
    (1e22, "1e+22"),
    (1e100, "1e+100"),
    (5e-324, "5e-324"),
    (2.2250738585072014e-308, "2.2250738585072014e-308"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (9007199254740993.0, "9007199254740992"),
    (0.30000000000000004, "0.30000000000000004"),
    (123456.5, "123456.5"),
    (1234567.875, "1234567.875"),
]


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize(("value", "text"), HARD_DOUBLES)
def test_hard_doubles_are_spelled_as_to_chars_does(value: float, text: str) -> None:
    assert text_from_float(value) == text
    assert bits(float_from_text(text.encode())) == bits(value)
    assert text_from_floats(np.array([value, value])) == f"{text},{text}".encode()


@given(FINITE)
def test_every_double_survives(value: float) -> None:
    assert bits(float_from_text(text_from_float(value).encode())) == bits(value)


@given(FINITE)
def test_the_spelling_is_the_shorter_of_the_two_and_plain_on_a_tie(value: float) -> None:
    text = text_from_float(value)
    digits = repr(abs(value)).split("e")[0].replace(".", "").strip("0") or "0"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    scientific_length = len(digits) + (len(digits) > 1) + (5 if abs(exponent) >= 100 else 4)
    if "e" in text:
        assert len(text.lstrip("-")) <= scientific_length
        assert len(text.split("e")[1]) >= 3
    elif value:
        assert len(text.lstrip("-")) <= scientific_length + 1  # log10 may round up to the next power


@given(st.lists(FINITE, max_size=40))
def test_arrays_are_spelled_like_their_numbers(values: list[float]) -> None:
    raw = text_from_floats(np.array(values))
    assert raw == ",".join(map(text_from_float, values)).encode()
    if values:
        assert floats_from_text(raw).tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    "text", ["+1", "", "-", ".", "1_0", " 1", "1 ", "0x10", "inf", "nan", "-inf", "1e", "1f", "1e+"]
)
def test_what_from_chars_refuses_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number"):
        float_from_text(text.encode())
    with pytest.raises(ValueError, match=r"expected a number"):
        check_floats(f"1,{text},2".encode())


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400", "0." + "0" * 400 + "1", "9" * 400])
def test_numbers_beyond_doubles_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="out of the range"):
        float_from_text(text.encode())
    with pytest.raises(ValueError, match="out of the range"):
        check_floats(f"1,{text},2".encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("5.", 5.0), ("1E5", 1e5), ("00012", 12.0), ("1e5", 1e5), ("0e-999", 0.0)],
)
def test_both_notations_are_read(text: str, value: float) -> None:
    assert float_from_text(text.encode()) == value
    assert floats_from_text(f"{text},1".encode()).tolist() == [value, 1.0]


def test_masks_never_pass_through_a_double() -> None:
    assert int_from_text(b"18446744073709551615", "u64") == 2**64 - 1
    with pytest.raises(ValueError, match="from 0 to 18446744073709551615"):
        int_from_text(b"18446744073709551616", "u64")
    with pytest.raises(ValueError, match="whole number"):
        int_from_text(b"9" * 5000, "u64")


@pytest.mark.parametrize("text", ["1.0", "1e3", "2147483648", "--1", "1,,2", ""])
def test_bad_integers_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        ints_from_text(f"1,{text},2".encode(), "i32")


def test_no_number_is_written_that_cannot_be_read() -> None:
    for value in (math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            text_from_float(value)
        with pytest.raises(ValueError, match="finite"):
            text_from_floats(np.array([value]))
