"""Asking a running simulation: a method for each request of the service.

    with Client("tcp://127.0.0.1:5556") as client:
        client.where("evtol_0")["lla"]
        client.convert([[29.6, -95.2, 100.0]], "lla", "ned")

What the service refuses is raised as a RequestError with `code`, `message` and `path`; the refusals of a world are
StateErrors too and those of geodesy GeoErrors, as if the world were here. A client belongs to one thread.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from time import monotonic
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.schemas.errors import MessageError
from diorama.transport.engine import Frame
from diorama.transport.methods import Limits, NoAnswerError, PlaceError, RefusedError, RequestError
from diorama.transport.security import ClientSecurity
from diorama.transport.service_link import open_request_link

# From this many points on, `convert` sends them as a binary body.
BODY_POINTS = 64
ERRORS = {"unknown_entity": RefusedError, "refused": RefusedError, "bad_place": PlaceError}


class Answer(NamedTuple):
    """A result, the tick it is about (or takes effect at), and the binary bodies that came with it."""

    result: Any
    tick: int
    bodies: list[Frame]


class Refusal(msgspec.Struct):
    """The error part of an answer."""

    code: str
    message: str
    path: str = ""


class Reply(msgspec.Struct):
    """The JSON of an answer."""

    id: int | str | None = None
    result: Any = None
    tick: int = -1
    error: Refusal | None = None


_decode = msgspec.json.Decoder(Reply).decode
_encode = msgspec.json.Encoder().encode


class Client:
    """One connection to a service."""

    def __init__(
        self,
        endpoint: str = "tcp://127.0.0.1:5556",
        *,
        timeout_s: float = 2.0,
        security: ClientSecurity | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self.tick = -1  # of the last answer
        self._guarded = security is not None
        self._ids = count(1)
        self._link = open_request_link(endpoint, security=security)

    def request(self, method: str, /, *, bodies: Sequence[Frame] = (), **params: Any) -> Answer:
        """Ask by name; parameters that are None are left out."""
        given = {name: value for name, value in params.items() if value is not None}
        return self.call(method, given, bodies)

    def call(self, method: str, params: Mapping[str, Any], bodies: Sequence[Frame] = ()) -> Answer:
        """Ask by name, with the parameters exactly as given."""
        number = next(self._ids)
        head = _encode({"id": number, "method": method, "params": params})
        end = monotonic() + self.timeout_s
        size = len(head) + sum(len(body) for body in bodies)
        if not self._link.send([head, *bodies], self.timeout_s):
            raise self._silence(size)
        while True:
            frames = self._link.receive(max(0.0, end - monotonic()))
            if frames is None:
                raise self._silence(size)
            answer = self._read(frames, number)
            if answer is not None:
                self.tick = answer.tick
                return answer

    def close(self) -> None:
        """End."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _silence(self, size: int) -> NoAnswerError:
        hint = " And is your key on its allow-list?" if self._guarded else ""
        usual = Limits().message_bytes
        if size > usual:  # a service hangs up on it, and cannot say why
            hint += f" And does it take a request of {size} bytes? The usual limit is {usual}."
        return NoAnswerError(
            f"no answer from {self.endpoint} within {self.timeout_s:g} s; is `diorama serve` running?{hint}"
        )

    def _read(self, frames: list[Frame], number: int) -> Answer | None:
        """The answer to a request, or None for a late one to an earlier request."""
        try:
            reply = _decode(frames[0])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError) as error:
            raise MessageError(f"{self.endpoint}: expected an answer of the service, got {error}") from None
        if reply.id is not None and reply.id != number:
            return None
        if reply.error is not None:
            code = reply.error.code
            raise ERRORS.get(code, RequestError)(code, reply.error.message, reply.error.path)
        return Answer(reply.result, reply.tick, frames[1:])

    # -- where things are ----------------------------------------------------------------------------------------

    def convert(
        self,
        points: ArrayLike,
        source: str,
        target: str,
        *,
        origin: tuple[float, float, float] | None = None,
    ) -> NDArray[np.float64]:
        """Points (n, 3) from one frame to another, about the scene's origin or (lat, lon, alt) of your own."""
        rows = np.asarray(points, "<f8")
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise ValueError(f"points: expected an array of shape (n, 3), got {rows.shape}")
        place = None
        if origin is not None:
            place = dict(zip(("latitude_deg", "longitude_deg", "altitude"), origin, strict=True))
        asked: dict[str, Any] = {"source": source, "target": target, "origin": place}
        if len(rows) < BODY_POINTS:
            found = self.request("convert", points=rows.tolist(), **asked).result["points"]
            return np.array(found, np.float64).reshape(-1, 3)
        answer = self.request("convert", bodies=[np.ascontiguousarray(rows).tobytes()], **asked)
        return np.frombuffer(answer.bodies[0], "<f8").astype(np.float64, copy=False).reshape(-1, 3)

    def where(self, name: str, *, axes: str = "ned") -> dict[str, Any]:
        """World pose and all coordinates of an entity."""
        return self._dict("where", name=name, axes=axes)

    def nearest(
        self,
        point: Sequence[float] | None = None,
        *,
        name: str | None = None,
        k: int = 1,
        frame: str = "ned",
    ) -> list[dict[str, Any]]:
        """The k entities nearest to a point, or to an entity."""
        return self._list("nearest", point=_floats(point), name=name, k=k, frame=frame)

    def within_radius(
        self,
        radius: float,
        point: Sequence[float] | None = None,
        *,
        name: str | None = None,
        frame: str = "ned",
    ) -> list[dict[str, Any]]:
        """Every entity within so many metres of a point, or of an entity."""
        return self._list("within_radius", radius=radius, point=_floats(point), name=name, frame=frame)

    def within_box(
        self, minimum: Sequence[float], maximum: Sequence[float], *, frame: str = "ned"
    ) -> list[str]:
        """The names of all entities between two corners."""
        return self._list("within_box", minimum=_floats(minimum), maximum=_floats(maximum), frame=frame)

    def within_polygon(
        self,
        corners: Sequence[tuple[float, float]],
        *,
        lowest: float | None = None,
        highest: float | None = None,
    ) -> list[str]:
        """The names of all entities over a polygon of (latitude, longitude) corners."""
        return self._list("within_polygon", corners=list(corners), lowest=lowest, highest=highest)

    def distance(self, start: str, end: str) -> dict[str, float]:
        """Distance, ground distance, bearing and climb from one entity to another."""
        return self._dict("distance", start=start, end=end)

    def relative_pose(self, name: str, seen_from: str) -> dict[str, Any]:
        """The pose of one entity in another's axes."""
        return self._dict("relative_pose", name=name, seen_from=seen_from)

    # -- what there is -------------------------------------------------------------------------------------------

    def describe(self) -> list[dict[str, Any]]:
        """Every method of the service, with the JSON Schema of its parameters."""
        return self._list("describe")

    def topics(self) -> list[str]:
        """The topics that are published."""
        return self._list("topics")

    def traffic(self) -> dict[str, Any]:
        """What the publisher has done: updates, messages by topic, bytes, joins and resyncs."""
        return self._dict("traffic")

    def scene(self) -> dict[str, Any]:
        """Origin, number of entities, names of resources."""
        return self._dict("scene")

    def entities(self, prefix: str = "", *, start: int = 0, count: int = 1000) -> dict[str, Any]:
        """Names, keys, assets and parents of entities, a part at a time."""
        return self._dict("entities", prefix=prefix, start=start, count=count)

    def entity(self, name: str) -> dict[str, Any]:
        """All about one entity."""
        return self._dict("entity", name=name)

    def list_objects(self, name: str = ".*") -> list[str]:
        """The names of entities that a regular expression matches whole."""
        return self._list("list_objects", name=name)

    def list_actors(self, type: str = "robot") -> list[str]:  # noqa: A002
        """The names of actors of a type, in scenes of Project AirSim."""
        return self._list("list_actors", type=type)

    def segmentation_ids(self, *, use_owner_name: bool = True) -> dict[str, int]:
        """The segmentation id of every object that has one."""
        return self._dict("segmentation_ids", use_owner_name=use_owner_name)

    def segmentation_id(self, name: str, *, use_owner_name: bool = True) -> int:
        """The segmentation id of an object; -1 when it has none."""
        return int(self.request("segmentation_id", name=name, use_owner_name=use_owner_name).result)

    def clock(self) -> dict[str, Any]:
        """Simulated time, whether it is paused, its real-time factor, late ticks."""
        return self._dict("clock")

    def get_resource(self, name: str) -> Any:
        """One resource of the scene."""
        return self.request("get_resource", name=name).result

    # -- changing it: each returns the tick it takes effect at ---------------------------------------------------

    def spawn(
        self,
        name: str,
        *,
        asset: str = "",
        parent: str | None = None,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        key: str = "",
        components: Mapping[str, Any] | None = None,
    ) -> int:
        """Make an entity."""
        pose = {"position": position, "orientation": orientation, "scale": scale}
        parts: dict[str, Any] = {what: _floats(value) for what, value in pose.items()}
        return self.request(
            "spawn", name=name, asset=asset, parent=parent, key=key, components=components, **parts
        ).tick

    def despawn(self, name: str, *, children: Literal["despawn", "grandparent"] = "despawn") -> int:
        """Take an entity away."""
        return self.request("despawn", name=name, children=children).tick

    def reparent(self, name: str, parent: str | None, *, keep: Literal["local", "world"] = "local") -> int:
        """Hang an entity under another, or make it a root."""
        return self.request("reparent", name=name, parent=parent, keep=keep).tick

    def set_component(self, name: str, group: str, value: Any) -> int:
        """Give an entity a component; None takes it away."""
        return self.call("set_component", {"name": name, "group": group, "value": value}).tick

    def set_pose(
        self,
        name: str,
        *,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        space: Literal["local", "world"] = "local",
    ) -> int:
        """Put an entity somewhere."""
        pose = {"position": position, "orientation": orientation, "scale": scale}
        parts: dict[str, Any] = {what: _floats(value) for what, value in pose.items()}
        return self.request("set_pose", name=name, space=space, **parts).tick

    def set_poses(self, names: Sequence[str], poses: ArrayLike) -> int:
        """Put many entities somewhere: local poses (n, 7) position and orientation, or (n, 10) with scale."""
        rows = np.ascontiguousarray(poses, "<f8")
        return self.request("set_poses", names=list(names), bodies=[rows.tobytes()]).tick

    def set_resource(self, name: str, value: Any) -> int:
        """Set a resource of the scene; None takes it away."""
        return self.call("set_resource", {"name": name, "value": value}).tick

    def reload(self, path: str | None = None) -> int:
        """Load the scene file again, or another one of the scenes directory."""
        return self.request("reload", path=path).tick

    def pause(self) -> int:
        """Stop the clock."""
        return self.request("pause").tick

    def resume(self) -> int:
        """Let the clock run."""
        return self.request("resume").tick

    def step(self, ticks: int = 1) -> int:
        """Run the paused clock for some ticks."""
        return self.request("step", ticks=ticks).tick

    def continue_for(self, duration_ns: int) -> int:
        """Run for a simulated time, then pause."""
        return self.request("continue_for", duration_ns=duration_ns).tick

    def continue_until(self, time_ns: int) -> int:
        """Run until a simulated time, then pause."""
        return self.request("continue_until", time_ns=time_ns).tick

    def set_segmentation_id(
        self,
        name: str,
        id: int,  # noqa: A002
        *,
        is_regex: bool = False,
        use_owner_name: bool = True,
    ) -> int:
        """Give objects a segmentation id, by name or by a regular expression; a negative one takes it away."""
        return self.request(
            "set_segmentation_id", name=name, id=id, is_regex=is_regex, use_owner_name=use_owner_name
        ).tick

    def _dict(self, method: str, **params: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.request(method, **params).result
        return result

    def _list(self, method: str, **params: Any) -> list[Any]:
        result: list[Any] = self.request(method, **params).result
        return result


def _floats(values: Sequence[float] | None) -> list[float] | None:
    """Numbers of any kind (numpy's too) as plain floats."""
    return None if values is None else [float(value) for value in values]
