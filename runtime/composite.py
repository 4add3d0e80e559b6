"""One world from many hosts: published scenes joined into one, which is a scene like any other.

    composite = Composite({"north": "zenoh:?scene=north", "south": "tcp://10.0.0.7:5555"})
    for tick in clock:
        step(composite.world, tick, [composite])
        publisher.publish(composite.world, tick)

The entities of a source stand under an entity with its name: `north/evtol_0`. When a source falls silent its entities
are marked with `Stale`, and removed later; when it comes back they are whole again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

from diorama.ecs import World, component
from diorama.geo import Origin
from diorama.runtime.clock import Tick
from diorama.runtime.graft import Graft
from diorama.schemas.errors import DioramaError
from diorama.transport.replica import Replica
from diorama.transport.security import ClientSecurity

WAITING, LIVE, STALE, GONE = "waiting", "live", "stale", "gone"


@component("stale")
@dataclass(frozen=True, slots=True)
class Stale:
    """The entity's source is silent since this time (ns) of the composite's clock; where it is may no longer be so."""

    since_ns: int


class Composite:
    """Joins published scenes; a system for `step`. Sources with another origin are put where they are on Earth."""

    def __init__(
        self,
        sources: Mapping[str, str],
        *,
        origin: Origin | None = None,
        stale_after_s: float = 2.5,
        remove_after_s: float = 10.0,
        security: ClientSecurity | None = None,
        on_event: Callable[[str, str], None] | None = None,
    ) -> None:
        """`on_event(source, state)` is told when a source becomes live, stale or gone."""
        for name in sources:
            if not name or "/" in name:
                raise DioramaError(f"source {name!r}: expected a name without slashes")
        if not sources:
            raise DioramaError("sources: expected at least one")
        self.world = World(origin)
        self._remove_after_s = remove_after_s
        self._on_event = on_event
        self._parts: list[_Part] = []
        try:
            for name, endpoint in sources.items():
                replica = Replica(endpoint, silence_s=stale_after_s, security=security)
                self._parts.append(_Part(name, endpoint, replica, Graft(self.world, name)))
        except BaseException:
            self.close()
            raise
        self._tell()

    def __call__(self, world: World, tick: Tick) -> None:
        """Bring the world up to what the sources said last."""
        if world is not self.world:
            raise ValueError("a composite steps its own world: step(composite.world, tick, [composite])")
        before = [part.state for part in self._parts]
        changed = [self._follow(part, tick) for part in self._parts]
        if any(changed) or before != [part.state for part in self._parts]:
            self._tell()
        for part, old in zip(self._parts, before, strict=True):
            if part.state != old and self._on_event is not None:
                self._on_event(part.name, part.state)

    @property
    def states(self) -> dict[str, str]:
        """How each source is doing: waiting (never heard), live, stale or gone."""
        return {part.name: part.state for part in self._parts}

    def close(self) -> None:
        """Stop following."""
        for part in self._parts:
            part.replica.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _follow(self, part: "_Part", tick: Tick) -> bool:
        """One source: what came, or that nothing does; whether its structure changed."""
        update = part.replica.poll()
        if part.replica.silent:
            self._age(part, tick)
            return False
        woke = part.state in (STALE, GONE) and part.replica.whole
        if update is None and not woke:
            return False
        self._revive(part)
        part.state = LIVE
        source = part.replica.world
        if self.world.origin is None and source.origin is not None:
            self.world.origin = source.origin
        return part.graft.take(source)

    def _age(self, part: "_Part", tick: Tick) -> None:
        if part.state == LIVE:
            part.state, part.silent_at = STALE, monotonic()
            for entity in part.graft.still:
                self.world.set(entity, Stale(tick.time_ns))
        elif part.state == STALE and monotonic() - part.silent_at >= self._remove_after_s:
            part.state = GONE
            part.graft.clear()

    def _revive(self, part: "_Part") -> None:
        if part.state == STALE:
            for entity in part.graft.still:
                if self.world.has(entity, Stale):  # unless a client took it away
                    self.world.remove(entity, Stale)

    def _tell(self) -> None:
        """Say in the resource `sources` how each is doing, with the resources of its own."""
        said: dict[str, Any] = {
            part.name: {
                "endpoint": part.endpoint,
                "state": part.state,
                "entities": len(part.graft.entities),
                "resources": dict(part.replica.world.resources),
            }
            for part in self._parts
        }
        if self.world.resource("sources") != said:
            self.world.set_resource("sources", said)


@dataclass(slots=True)
class _Part:
    """A source, what it is followed by, and what it became."""

    name: str
    endpoint: str
    replica: Replica
    graft: Graft
    state: str = WAITING
    silent_at: float = 0.0
