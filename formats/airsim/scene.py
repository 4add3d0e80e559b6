"""Scene files of Project AirSim to worlds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Velocity, World
from diorama.ecs.motion import Landed, Trajectory
from diorama.formats.airsim.components import Actor
from diorama.formats.airsim.fields import AT, Source, plain, read_object
from diorama.formats.airsim.files import Library, value_at
from diorama.formats.airsim.keys import ENV_OBJECT_CONFIG, SCENE
from diorama.formats.airsim.poses import Pose, read_pose
from diorama.formats.airsim.robot import (
    ENV_ACTOR_CONFIG,
    GRAVITY,
    ROBOT,
    Blueprint,
    read_blueprint,
    read_geometry,
)
from diorama.formats.airsim.segmentation import initialize_ids
from diorama.formats.files import read_file
from diorama.formats.jsonc import Path, parse
from diorama.geo import Origin, quaternion_from_rpy
from diorama.schemas.errors import Problem, SceneError

Progress = Callable[[str, int, int], None]
# The seed document's values; Project AirSim's code has 47.642101, -122.137001, 0 and 3 ms steps.
HOME_LLA = {"latitude": 47.641468, "longitude": -122.140165, "altitude": 122.0}
STEP_NS = 20_000_000
UPDATE_NS = 3_000_000
INT32_MAX = 2**31 - 1
OWN_KEYS = (
    "id",
    "actors",
    "environment-actors",
    "environment-objects",
    "spawn-objects",
    "clock",
    "home-geo-point",
)


@dataclass(slots=True)
class Batch:
    """Everything to spawn, in one go."""

    names: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    arrays: list[tuple[NDArray[np.float64], ...]] = field(default_factory=list)
    components: list[tuple[int, tuple[object, ...]]] = field(default_factory=list)

    def add(
        self,
        name: str,
        pose: Pose,
        components: Sequence[object],
        blueprint: Blueprint | None = None,
        asset: str = "",
        scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    ) -> None:
        """An actor and all its parts."""
        base = len(self.names)
        self.names.append(name)
        self.assets.append(asset)
        self.components.append((base, tuple(components)))
        first = (
            np.array([pose.position]),
            np.array([pose.orientation]),
            np.array([scale]),
            np.array([-1 - base]),
        )
        self.arrays.append((*first[:3], first[3] + base))
        if blueprint is not None and blueprint.nodes:
            self.names.extend([f"{name}/{node.name}" for node in blueprint.nodes])
            self.assets.extend([node.asset for node in blueprint.nodes])
            self.components.extend([(base + 1 + index, parts) for index, parts in blueprint.components])
            position, orientation, scales, parents = blueprint.arrays
            self.arrays.append((position, orientation, scales, parents + base + 1))

    def spawn(self, world: World, progress: Progress | None = None) -> None:
        """Make all entities."""
        if not self.names:
            return
        position, orientation, scale, parents = (
            np.concatenate(part) for part in zip(*self.arrays, strict=True)
        )
        entities = world.insert(
            self.names,
            asset=self.assets,
            parents=parents,
            position=position,
            orientation=orientation,
            scale=scale,
        ).tolist()
        for index, components in self.components:
            if progress is not None and index % 1000 == 0:
                progress("making entities", index, len(entities))
            world.set(entities[index], *components)


def read(
    path: str | FilePath,
    *,
    warnings: list[Problem] | None = None,
    exact: bool = False,
    search: Sequence[str | FilePath] = (),
    progress: Progress | None = None,
) -> World:
    """The world of a scene file; raises SceneError with everything wrong in it and in the files it names.

    Config files are looked up beside the scene file, then in the folders of `search`. `exact` computes poses as
    Project AirSim does, float32 and all. `progress` is called with (what, done, total).
    """
    errors: list[Problem] = []
    noted = [] if warnings is None else warnings
    folders = [FilePath(path).parent, *map(FilePath, search)]
    library = Library(folders, errors, noted, exact)
    document = parse(read_file(path), str(path))
    source = library.source(document)
    noted.extend(document.duplicates())
    if isinstance(document.value, dict) and "links" in document.value and "id" not in document.value:
        raise SceneError(
            document.problem(
                (), "this is the configuration of a robot or actor; open the scene file that names it"
            )
        )
    scene = read_object(source, (), document.value, SCENE)
    _check_scene(source, scene)
    home = Origin(*(scene.get("home-geo-point", {}).get(key, value) for key, value in HOME_LLA.items()))
    batch = _actors(library, source, scene, home, progress)
    noted.sort(key=_place)
    if errors:
        raise SceneError(sorted(errors, key=_place))
    world = World(origin=home)
    batch.spawn(world, progress)
    _set_resources(world, scene)
    if progress is not None:
        progress("", 1, 1)
    ids = scene.get("segmentation", {})
    if ids.get("initialize-ids", False):
        initialize_ids(
            world,
            ignore_existing=ids.get("ignore-existing", False),
            use_owner_name=ids.get("use-owner-name", True),
        )
    return world


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line or 0, problem.column or 0


def _check_scene(source: Source, scene: dict[str, Any]) -> None:
    """What no single key can tell."""
    low, high = scene.get("tiles-lod-min", 13), scene.get("tiles-lod-max", 19)
    if low > high:
        key = "tiles-lod-min" if "tiles-lod-min" in scene else "tiles-lod-max"
        source.error((key,), f"expected tiles-lod-min not above tiles-lod-max, got {low} and {high}")
    clock = scene.get("clock", {})
    for key in ("step-ns", "real-time-update-rate"):
        if clock.get(key, 0) > INT32_MAX:
            source.warn(("clock", key), f"Project AirSim reads at most {INT32_MAX} ns and wraps beyond")
    if clock.get("type") == "real-time":
        if clock.get("real-time-update-rate") == 0:
            message = "expected a whole number of at least 1 for a real-time clock, got 0"
            source.error(("clock", "real-time-update-rate"), message)
        for key in ("step-ns", "pause-on-start"):
            if clock.get(key):
                source.warn(
                    ("clock", key), "a real-time clock has no fixed step and cannot be paused; ignored"
                )
    if "home-geo-point" in scene:
        for key, value in HOME_LLA.items():
            written = source.document.value["home-geo-point"]
            if isinstance(written, dict) and key not in written:
                source.warn(("home-geo-point",), f"{key!r} is left out; {value} is taken")


def _actors(
    library: Library, source: Source, scene: dict[str, Any], home: Origin, progress: Progress | None
) -> Batch:
    batch = Batch()
    blueprints: dict[Any, Blueprint] = {}
    taken: set[str] = set()
    spawned = scene.get("spawn-objects", {})
    found = [
        *((actor, "robot") for actor in scene.get("actors", [])),
        *((actor, "environment actor") for actor in scene.get("environment-actors", [])),
        *((actor, "environment object") for actor in scene.get("environment-objects", [])),
        *((actor, "object") for key in ("sim-packaged", "from-file") for actor in spawned.get(key, [])),
    ]
    for index, (actor, what) in enumerate(found):
        if progress is not None:
            progress("reading actors", index, len(found))
        path = actor[AT][1]
        name = actor.get("name", "")
        if name in taken:
            what_has_it = "a part of a robot" if "/" in name else "an actor"
            message = f"there is already {what_has_it} named {name!r}; names are unique in a scene"
            source.error((*path, "name"), message)
        first = len(batch.names)
        pose = read_pose(source, (*path, "origin"), actor.get("origin"), home)
        if what == "robot":
            blueprint = _blueprint(library, source, path, actor, "robot-config", blueprints)
            batch.add(name, pose, _robot_components(actor, blueprint), blueprint)
        elif what == "environment actor":
            blueprint = _blueprint(library, source, path, actor, "env-actor-config", blueprints)
            settings = plain(actor, "type", "name", "origin", "env-actor-config")
            components: list[object] = [Actor(actor.get("type", ""), settings), Velocity()]
            components.extend(_trajectory(blueprint, pose))
            batch.add(name, pose, components, blueprint)
        elif what == "environment object":
            _environment_object(library, source, actor, pose, batch)
        else:
            settings = plain(actor, "name", "asset-path", "scale", "origin")
            scale = actor.get("scale", (1.0, 1.0, 1.0))
            batch.add(name, pose, [Actor("object", settings)], asset=actor.get("asset-path", ""), scale=scale)
        taken.update(batch.names[first:])
    return batch


def _blueprint(
    library: Library, source: Source, path: Path, actor: dict[str, Any], key: str, known: dict[Any, Blueprint]
) -> Blueprint:
    """The blueprint of an actor's config; actors that name the same files share one."""
    config = actor.get(key)
    if config is None:
        return Blueprint()
    names = tuple(config) if isinstance(config, list) else (config,)
    shared = (key, *names) if all(isinstance(name, str) for name in names) else None
    if shared is not None and shared in known:
        return known[shared]
    form = ROBOT if key == "robot-config" else ENV_ACTOR_CONFIG
    blueprint = read_blueprint(library.configs(source, (*path, key), config), form)
    if shared is not None:
        known[shared] = blueprint
    return blueprint


def _robot_components(actor: dict[str, Any], blueprint: Blueprint) -> list[object]:
    settings = {**blueprint.settings, **plain(actor, "type", "name", "origin", "robot-config")}
    settings.setdefault("physics-type", "non-physics")
    components: list[object] = [Actor("robot", settings), Velocity()]
    if actor.get("start-landed", False):
        components.append(Landed(blueprint.mass * GRAVITY))
    return components


def _trajectory(blueprint: Blueprint, pose: Pose) -> list[Trajectory]:
    """The script's trajectory, with the way from the spawning place to its first waypoint."""
    script = blueprint.script
    given = script.get("trajectory")
    if not given or not given.get("time_sec"):
        return []
    source, path = script[AT]
    times = given["time_sec"]
    count = len(times)
    for key, values in given.items():
        if isinstance(values, list) and len(values) != count:
            message = f"expected {count} numbers, one for each of time_sec, got {len(values)}"
            source.error((*path, "trajectory", key), message)
    for index in range(1, count):
        if times[index] <= times[index - 1]:
            message = f"expected a time after {times[index - 1]:g}, got {times[index]:g}"
            source.error((*path, "trajectory", "time_sec", index), message)
    keys = [("pose_x", "pose_y", "pose_z"), ("pose_roll", "pose_pitch", "pose_yaw")]
    columns = [[given.get(key, [0.0] * count) for key in group] for group in keys]
    if any(len(column) != count for group in columns for column in group):
        return []
    positions = list(zip(*columns[0], strict=True))
    orientations = [tuple(row) for row in quaternion_from_rpy(np.array(columns[1]).T).tolist()]
    first = times[0]
    if first > 0:
        times, positions, orientations = (
            [0.0, *times],
            [pose.position, *positions],
            [pose.orientation, *orientations],
        )
    return [
        Trajectory(
            tuple(times),
            tuple(positions),
            tuple(orientations),
            loop=script.get("loop", False),
            loop_from=first,
            name=given.get("name", ""),
        )
    ]


def _environment_object(
    library: Library, source: Source, actor: dict[str, Any], pose: Pose, batch: Batch
) -> None:
    path = actor[AT][1]
    asset, scale, settings = "", (1.0, 1.0, 1.0), plain(actor, "type", "name", "origin", "env-object-config")
    if "env-object-config" in actor:
        for part, place in library.configs(source, (*path, "env-object-config"), actor["env-object-config"]):
            config = read_object(part, place, value_at(part.document, place), ENV_OBJECT_CONFIG)
            visual = config.get("visual", {})
            asset, scale = read_geometry(part, (*place, "visual"), visual)
            settings.update(plain(config))
    batch.add(actor.get("name", ""), pose, [Actor(actor.get("type", ""), settings)], asset=asset, scale=scale)


def _set_resources(world: World, scene: dict[str, Any]) -> None:
    clock = scene.get("clock", {})
    world.set_resource("scene_id", scene["id"])
    world.set_resource(
        "clock",
        {
            "type": clock.get("type", "steppable"),
            "step_ns": clock.get("step-ns", STEP_NS),
            "realtime_update_ns": clock.get("real-time-update-rate", UPDATE_NS),
            "pause_on_start": clock.get("pause-on-start", False),
        },
    )
    rest = plain(scene, *OWN_KEYS)
    if "wind" in rest:
        world.set_resource("wind", rest.pop("wind"))
    if rest:
        world.set_resource("airsim", rest)
