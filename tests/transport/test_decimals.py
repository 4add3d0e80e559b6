"""JSON with fixed decimals: right to the stated tolerance, exact where a number does not fit."""

from decimal import Decimal

import numpy as np
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from diorama.ecs import Effector, Velocity, World, propagate
from diorama.formats.aerosim_write import document
from diorama.geo import Origin
from diorama.schemas.errors import StateError
from diorama.tests.transport.history import play
from diorama.transport.decimals import DEGREES, LIMIT, METRES, PARTS, SCALE, TOLERANCE, DecimalText
from diorama.transport.scene_text import SceneText

pytest.importorskip("numba")
# A float64 of the largest metre has steps of 1.5e-8 m; scaling and adding a half round twice more.
ROUNDING = 4 * np.finfo(np.float64).eps


def written(kind: int, number: float) -> bytes:
    text = DecimalText([b"[", b"]"], np.array([kind], np.int8)).fill(np.array([number]))
    assert text is not None
    return bytes(text)


@pytest.mark.parametrize("kind", [METRES, PARTS, DEGREES])
@given(part=st.floats(-1.0, 1.0), exponent=st.integers(-14, 0))
@settings(max_examples=100)
@example(part=0.0, exponent=0)
@example(part=-0.0, exponent=0)
@example(part=-1e-300, exponent=0)
def test_numbers_are_right_to_the_tolerance(kind: int, part: float, exponent: int) -> None:
    number = part * 10.0**exponent * float(np.nextafter(LIMIT[kind], 0))
    text = written(kind, number)
    (read,) = orjson.loads(text)
    off = abs(Decimal(text[1:-1].decode()) - Decimal(number))
    assert off <= Decimal(TOLERANCE[kind]) * Decimal("1.000001") + Decimal(abs(number) * ROUNDING)
    assert read == 0 or (read < 0) == (number < 0)


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        (METRES, 12345678.00004, b"[ 12345678.0000]"),
        (METRES, -12345678.00005, b"[-12345678.0001]"),
        (METRES, -99999999.9999, b"[-99999999.9999]"),
        (METRES, 9999.99996, b"[    10000.0000]"),
        (METRES, 0.00004, b"[        0.0000]"),
        (METRES, -0.00004, b"[        0.0000]"),
        (METRES, -0.00006, b"[       -0.0001]"),
        (METRES, 10000.0, b"[    10000.0000]"),
        (METRES, 10001.5, b"[    10001.5000]"),
        (PARTS, -0.5, b"[   -0.50000000]"),
        (PARTS, 1.0, b"[    1.00000000]"),
        (PARTS, -9999.99999999, b"[-9999.99999999]"),
        (DEGREES, -179.999999999999, b"[ -179.999999999999]"),
        (DEGREES, 0.0, b"[    0.000000000000]"),
    ],
)
def test_fields(kind: int, number: float, text: bytes) -> None:
    assert written(kind, number) == text


@pytest.mark.parametrize("kind", [METRES, PARTS, DEGREES])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, None, -1.0])
def test_what_does_not_fit_is_not_written(kind: int, bad: float | None) -> None:
    limit = float(LIMIT[kind])
    number = limit if bad is None else bad * (limit + 1 / SCALE[kind]) if bad == -1.0 else bad
    text = DecimalText([b"", b",", b""], np.array([kind, kind], np.int8))
    assert text.fill(np.array([1.0, number])) is None
    again = text.fill(np.array([2.0, 3.0]))
    assert again is not None
    assert orjson.loads(b"[" + bytes(again) + b"]") == [2.0, 3.0]


def close(one: object, other: object) -> bool:
    """Whether two documents are the same but for the last decimals of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= 1.01 * float(TOLERANCE[METRES])
    return one == other


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("origin", [None, Origin(29.5, -95.0, 12.0)], ids=["nowhere", "earth"])
def test_scenes_are_the_same_but_for_the_last_decimals(seed: int, origin: Origin | None) -> None:
    world = World()
    text = SceneText(decimals=True)
    for step in range(3):
        play(world, seed * 10 + step, steps=15)
        world.origin = origin
        for _ in range(2):
            assert close(orjson.loads(text.complete(world)), orjson.loads(orjson.dumps(document(world))))
            world.transforms.position[world.forest.order(), 1] += 0.1
            propagate(world)


def test_a_scene_with_a_number_that_is_too_large_is_exact() -> None:
    world = World()
    entity = world.spawn("a", Velocity((1.0, 2.0, 3.0)), position=(0.123456789, 0.0, 0.0))
    world.spawn("a/b", Effector("b", "path"), parent=entity)
    propagate(world)
    text = SceneText(decimals=True)
    assert b'{"x":        0.1235,' in bytes(text.complete(world))
    world.transforms.position[world.row(entity), 1] = 1e9
    propagate(world)
    assert bytes(text.complete(world)) == orjson.dumps(document(world))
    world.transforms.position[world.row(entity), 1] = float("nan")
    with pytest.raises(StateError, match="position: expected finite numbers"):
        text.complete(world)
