"""Members written all at once are what orjson writes one by one."""

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.transport import members
from diorama.transport.members import Members

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(autouse=True)
def _small_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "SLAB", 3)


def text_of(keys: list[bytes], pieces: list[bytes], numbers: list[list[float]]) -> bytes:
    """The same by hand."""
    values = (
        b"".join(piece + orjson.dumps(number) for piece, number in zip(pieces, row, strict=False))
        for row in numbers
    )
    return b",".join(key + b":" + value + pieces[-1] for key, value in zip(keys, values, strict=True))


@given(st.data())
@settings(max_examples=100)
def test_members_are_what_orjson_writes(data: st.DataObject) -> None:
    count, width = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 5))
    pieces = data.draw(st.lists(st.binary(max_size=20), min_size=width + 1, max_size=width + 1))
    keys = data.draw(st.lists(st.binary(max_size=12), min_size=count, max_size=count))
    named = Members(pieces).named(keys)
    for _ in range(2):
        rows = st.lists(FINITE, min_size=width, max_size=width)
        numbers = data.draw(st.lists(rows, min_size=count, max_size=count))
        assert b",".join(named.fill(np.array(numbers))) == text_of(keys, pieces, numbers)


def test_the_longest_numbers_between_the_shortest_pieces() -> None:
    keys, pieces = [b"", b"k", b"key"] * 3, [b"", b",", b"", b""]
    numbers = [[-2.2250738585072014e-308, 0.0, -1.7976931348623157e308]] * 9
    assert b",".join(Members(pieces).named(keys).fill(np.array(numbers))) == text_of(keys, pieces, numbers)
