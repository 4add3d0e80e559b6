"""Numbers spliced into a ready text are what orjson writes, whatever moves and whatever stays."""

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.transport import splice
from diorama.transport.gaps import LEAD
from diorama.transport.splice import Splice

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LONGEST = -2.2250738585072014e-308


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splice, "CHUNK", 7)


def text_of(pieces: list[bytes], numbers: list[float]) -> bytes:
    """The same by hand."""
    written = [orjson.dumps(number) for number in numbers]
    return b"".join(piece + number for piece, number in zip(pieces, [*written, b""], strict=True))


@given(st.data())
@settings(max_examples=60)
def test_every_fill_is_what_orjson_writes(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 30))
    pieces = data.draw(st.lists(st.binary(max_size=40), min_size=count + 1, max_size=count + 1))
    text = Splice(pieces)
    numbers = data.draw(st.lists(FINITE, min_size=count, max_size=count))
    for _ in range(8):
        assert bytes(text.fill(np.array(numbers))) == text_of(pieces, numbers)
        for index in data.draw(st.lists(st.integers(0, max(count - 1, 0)), max_size=4)) if count else ():
            numbers[index] = data.draw(FINITE)


def test_the_longest_numbers_between_the_shortest_pieces() -> None:
    pieces = [b"", *[b","] * 49, b""]
    numbers = [LONGEST, 0.0] * 25
    assert bytes(Splice(pieces).fill(np.array(numbers))) == text_of(pieces, numbers)


@pytest.mark.parametrize("number", [LONGEST, 0.0, -0.0, 1e16, 5e-324, 1.7976931348623157e308])
def test_pieces_of_every_length_around_the_longest_that_travels_with_its_number(number: float) -> None:
    lengths = [*range(2 * LEAD), *reversed(range(2 * LEAD)), 0, LEAD]
    pieces = [b"\0" * length for length in lengths]
    numbers = [number] * (len(pieces) - 1)
    assert bytes(Splice(pieces).fill(np.array(numbers), b"head")) == b"head" + text_of(pieces, numbers)


def test_a_text_stays_as_it_is_when_the_next_is_made() -> None:
    pieces = [b"<", *[b"|"] * 19, b">"]
    text = Splice(pieces)
    numbers = np.arange(20.0)
    first = text.fill(numbers)
    before = bytes(first)
    numbers[3] = LONGEST  # the first chunk grows, the others stay
    assert bytes(text.fill(numbers)) == text_of(pieces, numbers.tolist())
    assert bytes(first) == before == text_of(pieces, np.arange(20.0).tolist())


def test_numbers_that_stay_for_a_while_and_then_move() -> None:
    pieces = [f"{number}:".encode() for number in range(41)]
    text = Splice(pieces)
    random = np.random.default_rng(1)
    numbers = random.normal(size=40)
    for moving in (slice(0, 10), slice(0, 10), slice(30, 40), slice(0, 40), slice(12, 13), slice(0, 0)) * 3:
        numbers[moving] = random.normal(size=len(numbers[moving])) * 10.0 ** random.integers(-12, 12)
        assert bytes(text.fill(numbers)) == text_of(pieces, numbers.tolist())


def test_minus_zero_is_another_number_than_zero() -> None:
    text = Splice([b"[", b"]"])
    assert bytes(text.fill(np.array([0.0]))) == b"[0.0]"
    assert bytes(text.fill(np.array([-0.0]))) == b"[-0.0]"
