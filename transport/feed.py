"""Several simulation processes feed one scene: each sends the local poses of the entities it owns.

Over the service's endpoint. A process claims names once and gets handles; then it sends handles and poses as binary
bodies, and the last write before a tick wins. An entity has one owner at a time: until it is released, or until its
owner has been silent for as long as it said. What is unknown or another's is answered, never dropped in silence.

    with Feed("tcp://127.0.0.1:5556", "traffic", names) as feed:
        feed.send(poses)                      # (n, 7) or (n, 10) float64: position, orientation xyzw[, scale]
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, Self

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import World, check
from diorama.schemas.errors import StateError
from diorama.transport import methods
from diorama.transport.client import Client
from diorama.transport.commands import body_poses
from diorama.transport.methods import Call, Name, RequestError
from diorama.transport.security import ClientSecurity

NOBODY = 0
SILENCE_S = 2.0
OWNERS = 10_000
FAREWELL_S = 0.5

# -- the owner's world -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Owner:
    """A process that feeds: a name for people, how long it may be silent, and when it was heard last."""

    number: int
    label: str
    silence_s: float
    heard: float

    def lapsed(self, now: float) -> bool:
        """Whether it has been silent for too long."""
        return now - self.heard > self.silence_s


class Owners:
    """Who owns which row of a world. Starts afresh with every world it meets.

    `lease` is random for each: handles of a world before a reload, or of a process before this one, mean nothing now.
    """

    def __init__(self) -> None:
        self.lease = 0
        self.by_session: dict[str, Owner] = {}
        self.by_number: dict[int, Owner] = {}
        self.owner = np.zeros(0, np.int64)  # number of the owner, by row
        self.held = np.zeros(0, np.int64)  # the entity it was given for, by row
        self._world: World | None = None
        self._next = NOBODY + 1

    def of(self, world: World) -> "Owners":
        """These owners, for this world: a reloaded one begins with none."""
        if world is not self._world:
            self._world = world
            self.lease = 1 + secrets.randbelow(1 << 52)
            self.by_session, self.by_number = {}, {}
            self.owner = self.held = np.zeros(0, np.int64)
        high = world.table.high
        if len(self.owner) < high:
            room = np.zeros(2 * high - len(self.owner), np.int64)
            self.owner, self.held = np.append(self.owner, room), np.append(self.held, room)
        return self

    def session(self, session: str, label: str, silence_s: float) -> Owner:
        """The owner of a session, heard of just now."""
        now = monotonic()
        found = self.by_session.get(session)
        if found is None:
            if len(self.by_session) >= OWNERS:
                self._forget_lapsed(now)
            found = self.by_session[session] = Owner(self._next, label, silence_s, now)
            self.by_number[found.number] = found
            self._next += 1
        found.heard, found.label, found.silence_s = now, label, silence_s
        return found

    def take(self, owner: Owner, entities: NDArray[np.int64], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Give an owner what nobody else holds; which of the rows it has now."""
        now = monotonic()
        mine: NDArray[np.bool_] = (self.owner[rows] == owner.number) & (self.held[rows] == entities)
        for index in np.nonzero(~mine)[0].tolist():
            holder = self.holder(int(entities[index]), int(rows[index]), now)
            mine[index] = holder is None
        taken = rows[mine]
        self.owner[taken], self.held[taken] = owner.number, entities[mine]
        return mine

    def holder(self, entity: int, row: int, now: float) -> Owner | None:
        """Who owns a living entity, if anybody still does."""
        found = self.by_number.get(int(self.owner[row])) if self.held[row] == entity else None
        return None if found is None or found.lapsed(now) else found

    def release(self, session: str, rows: NDArray[np.intp] | None) -> int:
        """Let go of some rows, or of everything; returns how many."""
        owner = self.by_session.get(session)
        if owner is None:
            return 0
        if rows is None:
            rows = np.nonzero(self.owner == owner.number)[0]
            del self.by_session[session], self.by_number[owner.number]
        mine = rows[self.owner[rows] == owner.number]
        self.owner[mine] = NOBODY
        return len(mine)

    def _forget_lapsed(self, now: float) -> None:
        for session, owner in list(self.by_session.items()):
            if owner.lapsed(now):
                del self.by_session[session], self.by_number[owner.number]
        if len(self.by_session) >= OWNERS:
            raise RequestError("too_many", f"{OWNERS} processes feed this scene already")


Session = Annotated[str, Meta(min_length=8, max_length=100, description="chosen at random by the process")]
Silence = Annotated[float, Meta(gt=0.0, le=3600.0)]


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """`owner` is a name for people; `silence_s` is how long without a word until others may have the entities."""

    owner: Name
    session: Session
    names: list[Name]
    silence_s: Silence = SILENCE_S


@methods.command
def claim(call: Call, params: Claim) -> dict[str, Any]:
    """Own entities, to feed them. Answers a handle for each name, null for those unknown or owned by another."""
    call.limit(len(params.names), "params.names")
    owners = call.owners.of(call.world)
    owner = owners.session(params.session, params.owner, params.silence_s)
    known = [
        (index, call.world.names[name]) for index, name in enumerate(params.names) if name in call.world.names
    ]
    entities = np.array([entity for _, entity in known], np.int64)
    rows = call.world.rows(entities)
    mine = owners.take(owner, entities, rows)
    handles: list[int | None] = [None] * len(params.names)
    refused = {}
    now = monotonic()
    for (index, entity), row, granted in zip(known, rows.tolist(), mine.tolist(), strict=True):
        if granted:
            handles[index] = entity
        else:
            holder = owners.holder(entity, row, now)
            refused[params.names[index]] = holder.label if holder else ""
    unknown = [name for name in params.names if name not in call.world.names]
    return {"lease": owners.lease, "handles": handles, "unknown": unknown, "refused": refused}


class FeedPoses(msgspec.Struct, forbid_unknown_fields=True):
    """Two bodies, little-endian: int64 handles (n), float64 poses (n, 7) or (n, 10). `lease` is that of the claim."""

    owner: Name
    session: Session
    lease: int
    silence_s: Silence = SILENCE_S


@methods.command
def feed(call: Call, params: FeedPoses) -> dict[str, Any]:
    """Local poses for entities the process owns. Answers how many were applied, and the places of those that were
    unknown (despawned) or refused (another's, or not finite).
    """
    if len(call.bodies) != 2 or call.bodies[0].nbytes % 8:
        raise RequestError("bad_body", "expected two bodies: int64 handles and float64 poses", "body")
    handles = np.frombuffer(call.bodies[0], "<i8").astype(np.int64, copy=False)
    call.limit(len(handles), "body")
    given = body_poses(call, len(handles), index=1)
    assert given is not None
    world = call.world
    owners = call.owners.of(world)
    if params.lease != owners.lease:
        raise RequestError(
            "stale_lease", "the scene was loaded again since the claim; claim anew", "params.lease"
        )
    owner = owners.session(params.session, params.owner, params.silence_s)
    alive = _alive(world, handles)
    places = np.nonzero(alive)[0]  # in the message, of what is written in the end
    if len(places) < len(handles):
        handles, given = handles[alive], given[alive]
    rows = world.rows(handles)
    before = world.table.local.take(rows, axis=0)
    poses = before.copy()
    poses[:, : given.shape[1]] = given
    good = owners.take(owner, handles, rows) & check.sound(poses)
    refused = places[~good]
    if len(refused):
        rows, before, poses = rows[good], before[good], poses[good]

    def write(rows_of_poses: NDArray[np.float64]) -> None:
        world.table.local[rows] = rows_of_poses

    write(poses)
    call.settle(lambda: write(before), lambda: write(poses))
    return {"applied": len(rows), "unknown": np.nonzero(~alive)[0].tolist(), "refused": refused.tolist()}


class Release(msgspec.Struct, forbid_unknown_fields=True):
    """Without names, everything the session owns."""

    session: Session
    names: list[Name] | None = None


@methods.command
def release(call: Call, params: Release) -> dict[str, Any]:
    """Let go of entities, so that others may feed them."""
    owners = call.owners.of(call.world)
    if params.names is None:
        return {"released": owners.release(params.session, None)}
    entities = [call.world.names[name] for name in params.names if name in call.world.names]
    return {"released": owners.release(params.session, call.world.rows(np.array(entities, np.int64)))}


def _alive(world: World, handles: NDArray[np.int64]) -> NDArray[np.bool_]:
    try:
        world.rows(handles)
    except StateError:
        return np.array([world.alive(handle) for handle in handles.tolist()], np.bool_)
    return np.ones(len(handles), np.bool_)


# -- the feeding process -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of one set of poses: how many count from which tick, and whose did not."""

    tick: int
    applied: int
    unknown: tuple[str, ...] = ()
    refused: tuple[str, ...] = field(default=())


class Feed:
    """Feeds the poses of named entities into somebody else's world.

    `names` fixes the order of the rows that `send` takes. `unknown` and `refused` tell what the claim did not get;
    `send` asks for those again now and then, so an entity that appears or becomes free later is fed soon after.
    """

    def __init__(
        self,
        endpoint: str,
        owner: str,
        names: Sequence[str],
        *,
        silence_s: float = SILENCE_S,
        timeout_s: float = 2.0,
        security: ClientSecurity | None = None,
    ) -> None:
        self.owner = owner
        self.names = list(names)
        self.silence_s = silence_s
        self.session = secrets.token_hex(16)
        self.unknown: tuple[str, ...] = ()
        self.refused: dict[str, str] = {}
        self._client = Client(endpoint, timeout_s=timeout_s, security=security)
        self._lease, self._claimed = -1, 0.0
        self._closed = False
        self._handles = np.zeros(0, np.int64)
        self._granted = np.zeros(len(self.names), np.bool_)
        try:
            self.claim()
        except BaseException:
            self._client.close()
            raise

    def claim(self) -> None:
        """Ask for every entity (again): after a reload, or for what was unknown or another's."""
        answer = self._client.request(
            "claim", owner=self.owner, session=self.session, names=self.names, silence_s=self.silence_s
        ).result
        self._lease, self._claimed = answer["lease"], monotonic()
        self.unknown, self.refused = tuple(answer["unknown"]), answer["refused"]
        self._granted = np.array([handle is not None for handle in answer["handles"]], np.bool_)
        self._handles = np.array([handle for handle in answer["handles"] if handle is not None], "<i8")

    def send(self, poses: ArrayLike) -> Report:
        """Send local poses (n, 7) or (n, 10), a row for each of `names`, and wait for what became of them."""
        rows = np.asarray(poses, "<f8")
        if rows.ndim != 2 or rows.shape[0] != len(self.names) or rows.shape[1] not in (7, 10):
            raise ValueError(f"poses: expected shape ({len(self.names)}, 7) or (..., 10), got {rows.shape}")
        if not self._granted.all() and monotonic() - self._claimed >= self.silence_s / 4:
            self.claim()
        try:
            answer = self._feed(rows)
        except RequestError as error:
            if error.code != "stale_lease":
                raise
            self.claim()
            answer = self._feed(rows)
        fed, gone = np.nonzero(self._granted)[0], answer.result["unknown"]
        refused = [self.names[fed[index]] for index in answer.result["refused"]]
        self.unknown += tuple(
            self.names[fed[index]] for index in gone
        )  # until the next claim finds them again
        self._granted[fed[gone]] = False
        self._handles = np.delete(self._handles, gone)
        return Report(
            tick=answer.tick,
            applied=answer.result["applied"],
            unknown=self.unknown,
            refused=(*self.refused, *refused),
        )

    def close(self) -> None:
        """Let go of everything, if anybody still answers, and end."""
        if self._closed:
            return
        self._closed = True
        self._client.timeout_s = min(self._client.timeout_s, FAREWELL_S)
        try:
            self._client.request("release", session=self.session)
        except (RequestError, TimeoutError):
            pass  # the owner's world lets go by itself after the silence
        finally:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _feed(self, rows: NDArray[np.float64]) -> Any:
        return self._client.request(
            "feed",
            bodies=(self._handles.tobytes(), np.ascontiguousarray(rows[self._granted]).tobytes()),
            owner=self.owner,
            session=self.session,
            lease=self._lease,
            silence_s=self.silence_s,
        )
