"""The keys of a parameter file: what each may hold, what it is when left out, and what is wrong with a value.

Where document, sample file and code of scenario_simulator_v2 have three different defaults, the sample file's
count: an omitted `ellipse_normalized_x_radius` is 1.0 (the document's 0.0 would divide by zero) and an
omitted table is flat, with as many values as there are rings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import inf
from sys import float_info
from typing import Any, TypeGuard

from diorama.perception.parameters import ELLIPSE_Y_RADII
from diorama.schemas.errors import Problem, did_you_mean

# A check says what is expected of a value; nothing when the value is right.
Check = Callable[[Any], str]
MANDATORY = object()
MAX_SEED = 2**63 - 1
FLAT = object()  # a table with one value per ring, made when the rings are known


@dataclass(frozen=True, slots=True)
class Key:
    """The default of a key and the check of its value."""

    default: object
    check: Check


def is_number(value: object) -> TypeGuard[float]:
    """An int or float that a finite double can hold; True and False are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def number(low: float = -inf, high: float = inf, *, above: bool = False) -> Check:
    """Expect a number within low..high, or above `low` itself."""
    expected = "a number"
    if high < inf:
        expected += f" between {low} and {high}"
    elif low > -inf:
        expected += f" greater than {low}" if above else f" not below {low}"

    def check(value: Any) -> str:
        return "" if is_number(value) and low <= value <= high and not (above and value == low) else expected

    return check


def x_radius(value: Any) -> str:
    """Expect a ratio above 0: distances ahead are divided by it."""
    expected = "a number greater than 0, since distances ahead are divided by it (left out, it is 1.0)"
    return "" if is_number(value) and value > 0 else expected


def boolean(value: Any) -> str:
    """Expect true or false."""
    return "" if isinstance(value, bool) else "true or false"


def whole(low: int, high: int) -> Check:
    """Expect a whole number within low..high."""

    def check(value: Any) -> str:
        right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if right else f"a whole number between {low} and {high}"

    return check


# The rays of a LiDAR: bounds that keep a slip of the finger from asking for more rays than memory holds.
channels = whole(1, 4096)
resolution_deg = number(0.01, 360.0)
field_of_view_deg = number(0.0, 180.0)


def version_date(value: Any) -> str:
    """Expect a day written as the number YYYYMMDD."""
    expected = "a date as a whole number YYYYMMDD, such as 20240605"
    if not isinstance(value, int) or isinstance(value, bool) or not 10_000_000 <= value <= 99_999_999:
        return expected
    try:
        date(value // 10_000, value // 100 % 100, value % 100)
    except ValueError:
        return expected
    return ""


def noise_model(value: Any) -> str:
    """Expect the version of a noise model that exists."""
    return "" if value in (1, 2) and isinstance(value, int) and not isinstance(value, bool) else "1 or 2"


def numbers(low: float = -inf, high: float = inf) -> Check:
    """Expect a list of numbers within low..high."""
    one = number(low, high)

    def check(value: Any) -> str:
        if not isinstance(value, list | tuple):
            return f"a list of numbers, each {one(None)}"
        wrong = [str(index) for index, item in enumerate(value) if one(item)]
        return f"{one(None)} at every place, unlike at [{', '.join(wrong)}]" if wrong else ""

    return check


def radii(value: Any) -> str:
    """Expect growing positive numbers."""
    growing = (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(is_number(item) for item in value)
        and value[0] > 0
        and all(near < far for near, far in pairwise(value))
    )
    return "" if growing else "a list of numbers above 0, each greater than the one before"


def _autocorrelation(channel: str) -> dict[str, Key]:
    prefix = f"noise.v2.{channel}.autocorrelation_coefficient"
    return {
        f"{prefix}.amplitude": Key(0.0, number(0.0, 1.0)),
        f"{prefix}.decay": Key(0.0, number(0.0)),
        f"{prefix}.offset": Key(0.0, number(0.0, 1.0)),
    }


def _rings(table: str, check: Check) -> dict[str, Key]:
    prefix = f"noise.v2.{table}"
    return {f"{prefix}.ellipse_normalized_x_radius": Key(1.0, x_radius), f"{prefix}.values": Key(FLAT, check)}


GROUND_TRUTH_KEYS: dict[str, Key] = {
    "version": Key(MANDATORY, version_date),
    "override_legacy_configuration": Key(False, boolean),
    "delay": Key(0.0, number(0.0)),
}
DETECTION_KEYS: dict[str, Key] = GROUND_TRUTH_KEYS | {
    "seed": Key(0, whole(0, MAX_SEED)),
    "range": Key(300.0, number(0.0, above=True)),
    "occlusionless": Key(False, boolean),
    "noise.model.version": Key(1, noise_model),
    "noise.v1.position.standard_deviation": Key(0.0, number(0.0)),
    "noise.v1.missing_probability": Key(0.0, number(0.0, 1.0)),
    "noise.v2.ellipse_y_radii": Key(ELLIPSE_Y_RADII, radii),
    "noise.v2.stationary_start": Key(False, boolean),  # diorama's own
    **_autocorrelation("distance"),
    **_rings("distance.mean", numbers()),
    **_rings("distance.standard_deviation", numbers(0.0)),
    **_autocorrelation("yaw"),
    **_rings("yaw.mean", numbers()),
    **_rings("yaw.standard_deviation", numbers(0.0)),
    **_autocorrelation("yaw_flip"),
    "noise.v2.yaw_flip.speed_threshold": Key(0.1, number(0.0)),
    "noise.v2.yaw_flip.rate": Key(0.0, number(0.0, 1.0)),
    **_autocorrelation("true_positive"),
    **_rings("true_positive.rate", numbers(0.0, 1.0)),
}
# Models of later versions of the simulator may stand in the same file; with model 1 or 2 nobody reads them.
_OTHER_MODELS = ("noise.v3.", "noise.v4.")


def problems_of(values: Mapping[str, Any], keys: Mapping[str, Key]) -> Iterator[Problem]:
    """Everything wrong with the values of one topic; paths are keys without the topic."""
    for name, key in keys.items():
        if key.default is MANDATORY and name not in values:
            yield Problem(f"is missing; expected {key.check(None)}", name)
    for name, value in values.items():
        if name.startswith(_OTHER_MODELS):
            continue
        if name not in keys:
            inside = any(key.startswith(f"{name}.") for key in keys)
            if inside and value is None:  # an empty section
                continue
            what = f"expected keys inside, got {value!r}" if inside else "is no parameter of this topic"
            yield Problem(what + did_you_mean(name, keys), name)
        elif expected := keys[name].check(value):
            yield Problem(f"expected {expected}, got {value!r}{_float_hint(value)}", name)
    yield from _problems_between(values, keys)


def _problems_between(values: Mapping[str, Any], keys: Mapping[str, Key]) -> Iterator[Problem]:
    """What is wrong with values that are right by themselves."""
    if "noise.v2.ellipse_y_radii" not in keys:
        return
    rings = values.get("noise.v2.ellipse_y_radii", ELLIPSE_Y_RADII)
    for name, key in keys.items():
        table = values.get(name)
        if key.default is FLAT and isinstance(table, list | tuple) and isinstance(rings, list | tuple):
            if len(table) != len(rings):
                yield Problem(
                    f"expected {len(rings)} values, as many as in noise.v2.ellipse_y_radii, got {len(table)}",
                    name,
                )
        elif name.endswith(".amplitude"):
            offset = name.removesuffix("amplitude") + "offset"
            both = values.get(name, 0.0), values.get(offset, 0.0)
            if all(is_number(part) and 0 <= part <= 1 for part in both) and sum(both) > 1:
                yield Problem(f"expected at most 1 together with {offset}, got {both[0]} + {both[1]}", name)


def _float_hint(value: object) -> str:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return "; that is text in YAML, write the number without quotes and with a point, as in 1.0e-3"
    return ""
