"""Speaking to AeroSim's renderers as its orchestrator does: their topics, handshake and JSON.

load_config until every renderer says config_loaded, load_scene_graph until each says scene_graph_loaded, start, then
the clock and the whole scene graph with every tick, and stop in the end. What differs from AeroSim is on purpose:
nothing waits (the simulation runs, the handshake goes on beside it), load_scene_graph is repeated as load_config is,
`world_coordinate` is right, and a renderer that comes late or comes back is taken in.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic, time_ns
from typing import Any, Self

import orjson

from diorama.ecs import World
from diorama.formats.aerosim_profile import message, profile_document, stamp
from diorama.geo import Origin
from diorama.runtime.clock import Tick
from diorama.transport.plain_link import open_plain_link

COMMANDS = "aerosim.orchestrator.commands"
STATUS = "aerosim.renderer.status"
CLOCK = "aerosim.clock"
UPDATE = "aerosim.scene_graph.update"
REPEAT_S = 5.0
LOADING, BUILDING, RUNNING = "loading", "building", "running"
log = logging.getLogger("diorama.runtime")


class AeroSimBridge:
    """One world shown by AeroSim's renderers. Call `poll` often, and the bridge with every tick (it is a reporter)."""

    def __init__(
        self,
        endpoint: str,
        world: World,
        *,
        renderers: Sequence[str] = (),
        sim_config: Mapping[str, Any] | None = None,
        step_ns: int = 20_000_000,
        repeat_s: float = REPEAT_S,
        insecure: bool = False,
    ) -> None:
        """`renderers` are the ids to wait for: those of the scene's viewports, or "0", unless given."""
        self._world = world
        self._config = dict(sim_config) if sim_config is not None else make_config(world, renderers, step_ns)
        self.renderers = tuple(renderers) or renderer_ids(world)
        self.state = LOADING
        self._ready: set[str] = set()
        self._repeat_s = repeat_s
        self._sent_at = -repeat_s
        self._tick = Tick(0, 0, 0)
        profile_document(world)  # refuses a world without a place on Earth, before anybody is told anything
        self._link = open_plain_link(endpoint, [STATUS], insecure=insecure)
        self.endpoint = self._link.endpoint

    def poll(self) -> None:
        """Hear what renderers say, and go on with the handshake."""
        while (found := self._link.receive()) is not None:
            self._hear(found[1])
        if self.state == RUNNING:
            return
        if self._ready >= set(self.renderers):
            self._advance()
        elif monotonic() - self._sent_at >= self._repeat_s:
            self._ask()

    def __call__(self, world: World, tick: Tick) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """After a tick: the clock and the scene graph, once renderers run. Says nothing on diorama's own topics."""
        self._world, self._tick = world, tick
        self.poll()
        if self.state == RUNNING and world.origin is not None:
            now = {"timestamp_sim": stamp(tick.time_ns), "timestamp_platform": stamp(time_ns())}
            self._send(CLOCK, {**now, "tick_group": 1}, tick.time_ns)
            self._send(UPDATE, profile_document(world), tick.time_ns)
        return ()

    def close(self) -> None:
        """Tell the renderers to stop, and end."""
        self._send(COMMANDS, {"command": "stop", "parameters": {}}, self._tick.time_ns)
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _hear(self, payload: bytes) -> None:
        try:
            status = orjson.loads(orjson.loads(payload)["data"]["data"])
            renderer, said = str(status["renderer_id"]), status["status"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            log.warning("%s: a message that is none of AeroSim's", STATUS)
            return
        if said == "config_error":
            log.error("renderer %s refuses the configuration", renderer)
        elif said == {LOADING: "config_loaded", BUILDING: "scene_graph_loaded"}.get(self.state):
            self._ready.add(renderer)

    def _advance(self) -> None:
        """Everybody has done what was asked: the next thing."""
        self._ready.clear()
        if self.state == LOADING:
            self.state = BUILDING
            self._ask()
        else:
            self.state = RUNNING
            self._send(COMMANDS, {"command": "start", "parameters": {"sim_start_time": stamp(0)}}, 0)

    def _ask(self) -> None:
        self._sent_at = monotonic()
        if self.state == BUILDING and self._world.origin is None:
            return  # a scene loaded since has no place on Earth; renderers wait until there is one that has
        if self.state == LOADING:
            command, parameters = "load_config", {"sim_config": self._config}
        else:
            command, parameters = "load_scene_graph", {"scene_graph": profile_document(self._world)}
        self._send(COMMANDS, {"command": command, "parameters": parameters}, 0)

    def _send(self, topic: str, content: Mapping[str, Any], sim_time_ns: int) -> None:
        self._link.publish(
            topic, message(content, topic=topic, time_ns=sim_time_ns, platform_time_ns=time_ns())
        )


def renderer_ids(world: World) -> tuple[str, ...]:
    """The renderers a scene names in its viewports; "0", AeroSim's default, when it names none."""
    viewports = world.resource("viewport_configs") or []
    found = [str(view["renderer_instance"]) for view in viewports if "renderer_instance" in view]
    return tuple(dict.fromkeys(found)) or ("0",)


def make_config(world: World, renderers: Sequence[str], step_ns: int) -> dict[str, Any]:
    """A sim_config for renderers, of a scene that was not made from one: its actors come with the scene graph."""
    origin = world.origin or Origin(0.0, 0.0, 0.0)
    return {
        "clock": {"step_size_ms": max(1, round(step_ns / 1e6)), "pace_1x_scale": True},
        "orchestrator": {"sync_topics": []},
        "world": {
            "update_interval_ms": max(1, round(step_ns / 1e6)),
            "origin": dict(zip(("latitude", "longitude", "altitude"), origin.lla, strict=True)),
            "weather": world.resource("weather") or {"preset": "Cloudy"},
            "actors": [],
            "sensors": [],
        },
        "renderers": [
            {"renderer_id": name, "role": "primary", "sensors": [], "viewport_config": {"active_camera": ""}}
            for name in (tuple(renderers) or renderer_ids(world))
        ],
        "fmu_models": [],
    }
