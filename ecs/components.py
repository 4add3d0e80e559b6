"""What an entity can carry: the built-in components, and how users add their own.

A component is a frozen value that belongs to a *group*, the name under which it stands in documents and on the
wire. `Transform` and `Velocity` are the exception: they live in the world's columns, and what `World.get` hands
out is a live view on the entity's row.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]
T = TypeVar("T")

GROUPS: dict[str, type] = {}
GROUP_OF: dict[type, str] = {}
# Groups whose content is spread over names, columns and the tree rather than kept as one value.
RESERVED = frozenset({"actor_properties", "actor_state", "effectors", "sensors", "velocity"})


def component(group: str) -> Callable[[type[T]], type[T]]:
    """Register a frozen dataclass (or msgspec Struct) as a component: it then travels through query, file and wire."""

    def register(cls: type[T]) -> type[T]:
        if group in RESERVED:
            raise ValueError(f"group {group!r} is diorama's own; choose another name for {cls.__name__}")
        if not _is_frozen(cls):
            raise TypeError(
                f"{cls.__name__}: expected a frozen dataclass or msgspec.Struct, so that every change is noticed; "
                "decorate it with @dataclass(frozen=True)"
            )
        known = GROUPS.get(group)
        if known is not None and _source(known) != _source(cls):
            raise ValueError(
                f"group {group!r} already belongs to {known.__name__}; choose another name for {cls.__name__}"
            )
        GROUPS[group] = cls
        GROUP_OF[cls] = group
        return cls

    return register


@dataclass(frozen=True, slots=True)
class Groups:
    """Component groups nobody has registered, kept as the JSON they came as."""

    values: Mapping[str, Any]


GROUP_OF[Groups] = ""  # a component like others, though of no group of its own


def _is_frozen(cls: type) -> bool:
    settings = getattr(
        cls, "__struct_config__" if issubclass(cls, msgspec.Struct) else "__dataclass_params__", None
    )
    return settings is not None and bool(settings.frozen)


def _source(cls: type) -> tuple[str, str]:
    """Where a class was written: the same after its module is loaded again."""
    return cls.__module__, cls.__qualname__


def group_of(cls: type) -> str:
    """The group a component type is registered under."""
    try:
        return GROUP_OF[cls]
    except KeyError:
        raise TypeError(f"{cls.__name__} is not a component; register it with @component('a_name')") from None


def json_from_component(value: object) -> Any:
    """A component as plain JSON values, defaults written out."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    return {part.name: msgspec.to_builtins(getattr(value, part.name)) for part in fields(value)}  # type: ignore[arg-type]


def json_from_components(values: Iterable[object]) -> dict[str, Any]:
    """What an entity carries as JSON, by group: the registered ones and those kept raw."""
    found: dict[str, Any] = {}
    for value in values:
        if isinstance(value, Groups):
            found.update(value.values)
        else:
            found[group_of(type(value))] = json_from_component(value)
    return found


@cache
def keys_of(cls: type) -> frozenset[str]:
    """The keys a component has as JSON."""
    if issubclass(cls, msgspec.Struct):
        return frozenset((*cls.__struct_encode_fields__, cls.__struct_config__.tag_field or ""))
    return frozenset(part.name for part in fields(cls))  # type: ignore[arg-type]


def component_from_json(group: str, value: Any) -> object:
    """The typed component of a registered group; raises msgspec.ValidationError with the place inside the value."""
    return msgspec.convert(value, GROUPS[group])


class Live:
    """Numbers that are written into and never replaced, so that `transform.position = 1, 2, 3` moves the entity too."""

    def __set_name__(self, _: type, name: str) -> None:
        self.slot = f"_{name}"

    def __get__(self, part: object, _: type | None = None) -> Floats:
        numbers: Floats = getattr(part, self.slot)
        return numbers

    def __set__(self, part: object, values: ArrayLike) -> None:
        getattr(part, self.slot)[:] = values


class Transform:
    """Position (m), orientation (quaternion xyzw) and scale relative to the parent, or to world NED for a root.

    Handed out by `World.get`, its arrays are live: `transform.position[0] += 5` moves the entity. Keep it no longer
    than the entity lives.
    """

    __slots__ = ("_orientation", "_pose", "_position", "_scale")
    position, orientation, scale = Live(), Live(), Live()

    def __init__(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        scale: ArrayLike = (1.0, 1.0, 1.0),
    ) -> None:
        self._position: Floats = np.array(position, np.float64)
        self._orientation: Floats = np.array(orientation, np.float64)
        self._scale: Floats = np.array(scale, np.float64)
        self._pose: Floats | None = None

    @classmethod
    def view(cls, local: Floats, pose: Floats) -> "Transform":
        """A live view on one row of local and (read-only) world poses, each ten numbers."""
        self = cls.__new__(cls)
        self._position, self._orientation, self._scale = local[0:3], local[3:7], local[7:10]
        self._pose = pose
        return self

    @property
    def world_position(self) -> Floats:
        """Metres north, east, down of the origin, as of the last `propagate`."""
        return self._resolved()[0:3]

    @property
    def world_orientation(self) -> Floats:
        """Body-to-NED quaternion xyzw, as of the last `propagate`."""
        return self._resolved()[3:7]

    @property
    def world_scale(self) -> Floats:
        """Scale with all parents' scales multiplied in, as of the last `propagate`."""
        return self._resolved()[7:10]

    def _resolved(self) -> Floats:
        if self._pose is None:
            raise AttributeError(
                "this Transform belongs to no world; get one with world.get(entity, Transform)"
            )
        return self._pose

    def __repr__(self) -> str:
        position, orientation, scale = (
            part.tolist() for part in (self.position, self.orientation, self.scale)
        )
        return f"Transform({position=}, {orientation=}, {scale=})"


class Velocity:
    """Linear velocity (m/s, world NED axes) and angular velocity (rad/s, own axes); live like `Transform`."""

    __slots__ = ("_angular", "_linear")
    linear, angular = Live(), Live()

    def __init__(self, linear: ArrayLike = (0.0, 0.0, 0.0), angular: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        self._linear: Floats = np.array(linear, np.float64)
        self._angular: Floats = np.array(angular, np.float64)

    @classmethod
    def view(cls, row: Floats) -> "Velocity":
        """A live view on one row of six numbers."""
        self = cls.__new__(cls)
        self._linear, self._angular = row[0:3], row[3:6]
        return self

    def __repr__(self) -> str:
        return f"Velocity(linear={self.linear.tolist()}, angular={self.angular.tolist()})"


@component("effector")
@dataclass(frozen=True, slots=True)
class Effector:
    """A moving part of its parent, such as a rotor: an entity of its own, written in its parent's `effectors` list."""

    id: str
    path: str = ""


@component("sensor")
@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor and its parameters; unknown types pass through as they are."""

    name: str
    type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@component("bounds")
@dataclass(frozen=True, slots=True)
class Bounds:
    """A box around the entity in its own axes (forward, right, down; metres, before scale)."""

    size: Vector
    center: Vector = (0.0, 0.0, 0.0)


@component("classification")
@dataclass(frozen=True, slots=True)
class Classification:
    """What a thing is, for perception: a label such as `car`, and the segmentation id a camera would see."""

    label: str
    segmentation_id: int | None = None
