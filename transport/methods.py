"""What a request is made of: the table of methods, what each is called with, and how it fails.

A method is a function of a `Call` (the world and who asks) and a msgspec Struct (its parameters):

    @query
    def where(call: Call, params: Where) -> dict[str, Any]:
        "Where an entity is."

Its name, its documentation and the JSON Schema of its parameters all come from there.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from diorama.ecs import World, propagate
from diorama.schemas.errors import DioramaError, GeoError, StateError, did_you_mean

if TYPE_CHECKING:
    from diorama.transport.feed import Owners

Floats = NDArray[np.float64]
Name = Annotated[str, Meta(max_length=1000)]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
# A hint costs a comparison with every name, and anybody may ask: only in small worlds.
HINTED_NAMES = 500


class RequestError(DioramaError):
    """A request that cannot be granted: a code for programs, a message for people, the place in the request."""

    def __init__(self, code: str, message: str, path: str = "") -> None:
        self.code, self.message, self.path = code, message, path
        super().__init__(f"{path}: {message}" if path else message)


class RefusedError(RequestError, StateError):
    """The world refuses the change, or there is no such entity."""


class PlaceError(RequestError, GeoError):
    """The place is impossible, or the scene has no place on Earth."""


class NoAnswerError(DioramaError, TimeoutError):
    """Nobody answered in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may ask for."""

    message_bytes: int = 1 << 24
    requests_per_s: float = 5000.0
    points: int = 200_000  # points, poses or names in one request
    polygon_corners: int = 1000
    clients: int = 10_000  # remembered at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """What the service cannot do itself. Whoever runs the simulation hands in what it has; the rest is refused.

    `topics` lists what is published, `traffic` counts it; `reload` takes a file inside the scenes directory, or None
    for the one that was loaded; `step` takes a number of ticks; `clock` gives the running clock.
    """

    topics: Callable[[], list[str]] | None = None
    traffic: Callable[[], Mapping[str, Any]] | None = None
    reload: Callable[[Path | None], None] | None = None
    pause: Callable[[], None] | None = None
    resume: Callable[[], None] | None = None
    step: Callable[[int], None] | None = None
    clock: Callable[[], Any] | None = None


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way: the world it is about, its binary bodies, and what answers may need."""

    world: World
    tick: int
    bodies: list[memoryview]
    limits: Limits
    handlers: Handlers
    scenes: Path | None
    owners: "Owners"
    methods: Mapping[str, "Method"]
    body_out: bytes | memoryview | None = field(default=None)

    def entity(self, name: str, path: str = "params.name") -> int:
        """The entity of that name, or a structured error."""
        entity = self.world.names.get(name)
        if entity is None:
            small = len(self.world) <= HINTED_NAMES
            hint = did_you_mean(name, self.world.names) if small else ""
            raise RefusedError("unknown_entity", f"no entity is named {name!r}{hint}", path)
        return entity

    def rows(self, width: int, path: str = "body") -> Floats | None:
        """The first body as float64 (n, width), or None when there is none."""
        if not self.bodies:
            return None
        raw = self.bodies[0]
        if raw.nbytes % (8 * width):
            raise RequestError(
                "bad_body", f"expected rows of {width} little-endian float64, got {raw.nbytes} bytes", path
            )
        self.limit(raw.nbytes // (8 * width), path)
        return np.frombuffer(raw, "<f8").astype(np.float64, copy=False).reshape(-1, width)

    def limit(self, count: int, path: str) -> None:
        """Refuse more points, poses or names than one request may have."""
        if count > self.limits.points:
            raise RequestError(
                "too_many", f"expected at most {self.limits.points} in one request, got {count}", path
            )

    def settle(self, undo: Callable[[], object], redo: Callable[[], object]) -> None:
        """Resolve the world after a change; a change that cannot be resolved is undone and refused.

        It is made again when the world cannot be resolved without it either: one broken entity, which a tick leaves
        where it was, must not keep everybody from moving the others.
        """
        try:
            propagate(self.world)
        except StateError:
            undo()
            try:
                propagate(self.world)
            except StateError:
                redo()
                with suppress(StateError):
                    propagate(self.world)
            else:
                raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One entry of the table."""

    name: str
    about: str
    params: type[msgspec.Struct]
    function: Callable[[Call, Any], Any]
    is_command: bool
    decoder: "msgspec.json.Decoder[Any]"


METHODS: dict[str, Method] = {}
Function = Callable[[Call, Any], Any]


def query(function: Function) -> Function:
    """Enter a method that changes nothing into the table."""
    return _enter(function, is_command=False)


def command(function: Function) -> Function:
    """Enter a method that changes something into the table; it is answered with the first tick that shows it."""
    return _enter(function, is_command=True)


def describe(methods: Mapping[str, Method]) -> list[dict[str, Any]]:
    """Every method: name, kind, documentation, JSON Schema of its parameters."""
    return [
        {
            "name": method.name,
            "kind": "command" if method.is_command else "query",
            "about": method.about,
            "params": msgspec.json.schema(method.params),
        }
        for method in methods.values()
    ]


def _enter(function: Function, *, is_command: bool) -> Function:
    params = get_type_hints(function)["params"]
    METHODS[function.__name__] = Method(
        name=function.__name__,
        about=" ".join((function.__doc__ or "").split()),
        params=params,
        function=function,
        is_command=is_command,
        decoder=msgspec.json.Decoder(params),
    )
    return function


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No parameters."""


def required_handler(function: Callable[..., Any] | None, what: str) -> Callable[..., Any]:
    """What the host lends the service for a method; refuses the request where it lends nothing."""
    if function is None:
        raise RequestError("not_supported", f"this service was given no way to {what}", "method")
    return function
