"""Four numbers at a time: each operation against the same on single numbers, bit by bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba", reason="needs the extra `fast`")

from diorama.ecs.lanes import alike, differ, first, infinite, load, negate_last, pick, store
from diorama.geo.compiled import compiled

zxyw = pick(2, 0, 1, 3)
any_number = st.floats(width=64)  # NaN, infinities and both zeros among them
fours = st.lists(any_number, min_size=4, max_size=4).map(np.array)


@compiled()
def work(one: Any, two: Any, out: Any) -> tuple[bool, bool, float]:
    a, b = load(one, 0, 1), load(two, 0, 0)
    store(out, 0, 0, a + b)
    store(out, 1, 0, a - b)
    store(out, 2, 0, a * b)
    store(out, 3, 0, zxyw(a))
    store(out, 4, 0, negate_last(a))
    store(out, 5, 1, alike(first(a)))
    return differ(a, b), infinite(a), first(a)


def bits(values: Any) -> list[int]:
    """NaN is one value here: which NaN an operation gives is the processor's choice."""
    array = np.array(values, np.float64)
    array[np.isnan(array)] = np.nan
    found: list[int] = array.view(np.int64).tolist()
    return found


@settings(max_examples=200)
@given(a=fours, b=fours)
def test_operations_are_those_of_single_numbers(a: Any, b: Any) -> None:
    out = np.full((6, 6), 7.0)
    found, unbounded, head = work(np.array([[0.0, *a]]), b[None], out)
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a[[2, 0, 1, 3]], a * [1, 1, 1, -1]]
    for row, values in zip(out, expected, strict=False):
        assert bits(row[:4]) == bits(values)
        assert row[4:].tolist() == [7.0, 7.0]  # nothing beyond the four
    assert bits(out[5]) == bits([7.0, *[a[0]] * 4, 7.0])
    assert found == (a.tobytes() != b.tobytes())
    assert unbounded == (not np.isfinite(a).all())
    assert bits([head]) == bits([a[0]])


@pytest.mark.parametrize("lane", range(4))
def test_one_bit_anywhere_is_a_difference(lane: int) -> None:
    a = np.array([1.0, 0.0, np.nan, 5e-324])
    b = a.copy()
    out = np.zeros((6, 6))
    assert not work(np.array([[0.0, *a]]), b[None], out)[0]
    b.view(np.uint64)[lane] ^= 1 << 63  # -0 is not 0, and NaN has a sign
    assert work(np.array([[0.0, *a]]), b[None], out)[0]
