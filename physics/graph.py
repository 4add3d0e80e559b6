"""A running scene as part of a world: its bodies become entities, and their poses arrive as one array write.

Under every environment's node everything keeps MuJoCo's axes (x forward, y left, z up): the node itself turns
them into north-east-down (x is north, y is west) and carries the environment's origin. Bodies hang flat under
the node, because MuJoCo's poses are relative to the world; who is whose kinematic parent is data (`Body`).
"""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, World
from diorama.physics.index import as_columns
from diorama.physics.mujoco_import import mujoco
from diorama.physics.rotations import xyzw_from_wxyz
from diorama.physics.scene import Scene
from diorama.physics.structure import (
    TERRAIN,
    Environment,
    Part,
    body_name,
    describe_bodies,
    describe_geoms,
    name_of,
    sensor_frame,
)
from diorama.schemas.errors import SceneError, StateError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Half a turn about x: from x, y left, z up to x, y right, z down. xyzw.
FLIP = (1.0, 0.0, 0.0, 0.0)
RESOURCE = "physics"
# A tick that is short of a substep by less than this fraction of it counts as whole.
SLACK = 1e-6
# The node of a single environment without a number.
NODE = "mujoco"


def ned_from_mujoco(vectors: Floats) -> Floats:
    """Vectors (…, 3) from MuJoCo's world (north, west, up) to north, east, down."""
    return vectors * (1.0, -1.0, -1.0)


class Tick(Protocol):
    """What a clock's tick says about its length."""

    @property
    def step_ns(self) -> int:
        """Nanoseconds since the last tick."""


class SceneGraph:
    """Chosen environments of a scene as entities of a world; `update()` after a step brings their poses.

    Environment k is the entity `env_<k>`, its bodies are `env_<k>/robot/trunk`, and `env_<k>/robot` is where
    the robot's root is. With `geoms` every shape and every sensor is an entity below its body
    (`…/robot/trunk#geom`) and every body carries a `Body`; without, all that stands only in the resource
    `physics`, which describes the model once for all environments: what one wants for thousands of them.
    Ground is there once.
    With `numbered=False`, for a single environment, names are the model's own and its node is `mujoco`.
    A scene can hang `under` an entity of the world, and a `prefix` keeps several apart.
    """

    def __init__(
        self,
        scene: Scene,
        world: World,
        envs: Iterable[int] | None = None,
        *,
        geoms: bool = True,
        numbered: bool = True,
        under: Entity | None = None,
        prefix: str = "",
    ) -> None:
        self.scene = scene
        self.world = world
        chosen = range(scene.num_envs) if envs is None else envs
        self.envs: Ints = np.array(sorted(set(chosen)), dtype=np.int64)
        if not self.envs.size or self.envs[0] < 0 or self.envs[-1] >= scene.num_envs:
            raise SceneError(
                f"envs: expected some of 0 to {scene.num_envs - 1}, got {self.envs.tolist()[:5]}"
            )
        if not numbered and self.envs.size > 1:
            raise SceneError(f"envs: {self.envs.size} environments need numbers in their names")
        model = scene.model
        ground = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, TERRAIN) if scene.cfg.terrain else -1
        self.bodies: Ints = np.array(
            [body for body in range(1, model.nbody) if body != ground], dtype=np.int64
        )
        self._roots: Ints = np.array(
            [index.root for index in scene.index(model).values() if index.root], dtype=np.int64
        )
        self._root_names = [name for name, index in scene.index(model).items() if index.root]
        self._geoms = describe_geoms(model, scene.mesh_files)
        self._prefix, self._under = prefix, under
        self._labels = [f"{prefix}env_{env}" for env in self.envs] if numbered else [f"{prefix}{NODE}"]
        self._prefixes = [f"{label}/" for label in self._labels] if numbered else [prefix]
        self._insert(ground, geoms)
        self._describe()
        self._reported = scene.divergence_count
        self._epoch = -1
        self._owed_ns = 0
        self.update()

    # -- structure ------------------------------------------------------------------------------------------

    def _insert(self, ground: int, geoms: bool) -> None:
        """Make all entities in one go, environment by environment within each kind, parents before children."""
        scene, model, count = self.scene, self.scene.model, self.envs.size
        body_names = [body_name(model, body) for body in self.bodies]
        # A plane has no end, and the ground is everybody's: once is enough.
        shared = [part for part in self._geoms if self._is_shared(part, ground)]
        if shared and f"{self._prefix}{TERRAIN}" in self.world.names:
            raise StateError(f"the world has a {self._prefix}{TERRAIN} already; give this scene a prefix")
        parts = [part for part in self._geoms if not self._is_shared(part, ground)] if geoms else []
        parts += self._sensor_parts() if geoms else []
        names = [*self._labels]
        names += [f"{prefix}{name}" for prefix in self._prefixes for name in body_names]
        names += [f"{prefix}{name}" for prefix in self._prefixes for name in self._root_names]
        names += [f"{prefix}{part.name}" for prefix in self._prefixes for part in parts]
        kinds = (count, count * self.bodies.size, count * self._roots.size, count * len(parts))
        starts = np.cumsum((0, *kinds))
        total = int(starts[-1])
        parents = np.full(total, -1)
        parents[starts[1] : starts[2]] = np.repeat(np.arange(count), self.bodies.size)
        parents[starts[2] : starts[3]] = np.repeat(np.arange(count), self._roots.size)
        position, orientation, scale = (
            np.zeros((total, 3)),
            np.tile((0.0, 0, 0, 1), (total, 1)),
            np.ones((total, 3)),
        )
        position[:count] = ned_from_mujoco(scene.env_offsets[self.envs])
        orientation[:count] = FLIP
        if parts:
            # The place of a body in its environment's block; the world's own parts hang on the node.
            place = np.full(model.nbody, -1)
            place[self.bodies] = np.arange(self.bodies.size)
            at = place[[part.body for part in parts]]
            block = np.arange(count)[:, None]
            below = np.where(at >= 0, starts[1] + block * self.bodies.size + at, block)
            parents[starts[3] :] = below.ravel()
            position[starts[3] :] = np.tile([part.position for part in parts], (count, 1))
            orientation[starts[3] :] = np.tile([part.orientation for part in parts], (count, 1))
            scale[starts[3] :] = np.tile([part.scale for part in parts], (count, 1))
        assets = [""] * int(starts[3]) + [part.asset for part in parts] * count
        entities = self.world.insert(
            names,
            asset=assets,
            parents=parents,
            under=self._under,
            position=position,
            orientation=orientation,
            scale=scale,
        )
        self.env_entities, self.body_entities, self._root_entities, part_entities = np.split(
            entities, starts[1:4]
        )
        self.body_entities = self.body_entities.reshape(count, self.bodies.size)
        self._root_entities = self._root_entities.reshape(count, self._roots.size)
        for entity, env in zip(self.env_entities.tolist(), self.envs.tolist(), strict=True):
            self.world.set(entity, Environment(index=env))
        if geoms:
            self._set_repeated(self.body_entities.ravel(), describe_bodies(model, self.bodies))
        self._set_repeated(part_entities, [part.component for part in parts])
        self._insert_shared(shared)

    def _is_shared(self, part: Part, ground: int) -> bool:
        return part.body == ground or (part.body == 0 and part.component.type == "plane")

    def _set_repeated(self, entities: Ints, components: list[Any]) -> None:
        for row, entity in enumerate(entities.tolist()):
            self.world.set(entity, components[row % len(components)])

    def _insert_shared(self, parts: list[Part]) -> None:
        """The ground, which all environments have in common."""
        if not parts:
            return
        base = self.world.spawn(f"{self._prefix}{TERRAIN}", parent=self._under, orientation=FLIP)
        entities = self.world.insert(
            [f"{self._prefix}{part.name}" for part in parts],
            asset=[part.asset for part in parts],
            under=base,
            position=[part.position for part in parts],
            orientation=[part.orientation for part in parts],
            scale=[part.scale for part in parts],
        )
        self._set_repeated(entities, [part.component for part in parts])

    def _sensor_parts(self) -> list[Part]:
        """Every sensor that sits somewhere, as a part of the body it sits on."""
        model, parts = self.scene.model, []
        for name, sensor in self.scene.sensors.items():
            frame = sensor_frame(model, *sensor.mounted_on)
            if frame is None:
                continue
            parts.append(
                Part(
                    name=f"{name}#sensor",
                    body=frame[0],
                    position=tuple(frame[1].tolist()),
                    orientation=tuple(xyzw_from_wxyz(frame[2]).tolist()),
                    scale=(1.0, 1.0, 1.0),
                    component=Sensor(name=name, type=sensor.type, parameters={"width": sensor.width}),
                )
            )
        return parts

    def _describe(self) -> None:
        """Put the model's description into the world's resource, once for all environments."""
        model, index = self.scene.model, {body: place for place, body in enumerate(self.bodies.tolist())}
        self.world.set_resource(
            f"{self._prefix}{RESOURCE}",
            {
                "engine": f"MuJoCo {mujoco.__version__}",
                "timestep": self.scene.timestep,
                "environments": self.envs.tolist(),
                "bodies": [
                    {
                        "name": body_name(model, body),
                        "parent": index.get(int(model.body_parentid[body]), -1),
                        "mass": float(model.body_mass[body]),
                    }
                    for body in self.bodies
                ],
                "joints": [
                    {
                        "name": name_of(model, mujoco.mjtObj.mjOBJ_JOINT, joint, "joint"),
                        "type": mujoco.mjtJoint(int(model.jnt_type[joint])).name[len("mjJNT_") :].lower(),
                        "body": index.get(int(model.jnt_bodyid[joint]), -1),
                    }
                    for joint in range(model.njnt)
                ],
                "geoms": [
                    {
                        "name": part.name.removesuffix("#geom"),
                        "body": index.get(part.body, -1),
                        "type": part.component.type,
                        "size": list(part.component.size),
                        "rgba": list(part.component.rgba),
                        "mesh": part.component.mesh,
                        "group": part.component.group,
                        "position": list(part.position),
                        "orientation": list(part.orientation),
                        "scale": list(part.scale),
                        "asset": part.asset,
                    }
                    for part in self._geoms
                ],
                "sensors": sorted(self.scene.sensors),
            },
        )

    # -- poses ----------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Write the poses of all bodies of all chosen environments into the world, as one array.

        They are those of `scene.pose_time`. Environments that diverged since are marked on their nodes.
        """
        simulation = self.scene.simulation
        xpos, xquat = simulation.derived("xpos"), simulation.derived("xquat")
        if self._epoch != self.world.epoch:
            self._body_rows = self._rows_of(self.body_entities)
            self._root_rows = self._rows_of(self._root_entities)
            self._epoch = self.world.epoch
        self._write(self._body_rows, as_columns(self.bodies), xpos, xquat)
        if self._roots.size:
            self._write(self._root_rows, as_columns(self._roots), xpos, xquat)
        if self.scene.divergence_count != self._reported:
            self._report()

    def advance(self, world: World, tick: Tick) -> None:
        """Be a system of the world: simulate one tick, as many substeps as fit into it, and bring the poses.

        What does not fit is kept for the next tick, so that simulated time never drifts from the clock's.
        """
        if world is not self.world:
            raise StateError("this scene feeds another world")
        self._owed_ns += tick.step_ns
        substeps = int(self._owed_ns / (self.scene.timestep * 1e9) + SLACK)
        if substeps > 0:
            self._owed_ns -= round(substeps * self.scene.timestep * 1e9)
            self.scene.step(substeps, current=True)
            self.update()

    def _rows_of(self, entities: Ints) -> Floats | Ints:
        """The entities' local poses as one live block (environments, bodies, 10), or their rows if scattered."""
        rows = self.world.rows(entities.ravel()).astype(np.int64)
        block = as_columns(rows)
        if isinstance(block, slice):
            return self.world.table.local[block].reshape(*entities.shape, -1)
        return rows.reshape(entities.shape)

    def _write(self, target: Floats | Ints, bodies: slice | Ints, xpos: Floats, xquat: Floats) -> None:
        envs = as_columns(self.envs)
        position, quat = xpos[envs][:, bodies], xquat[envs][:, bodies]
        if target.ndim == 3:
            target[..., 0:3] = position
            target[..., 3:6] = quat[..., 1:]
            target[..., 6] = quat[..., 0]
        else:
            self.world.transforms.position[target] = position
            self.world.transforms.orientation[target] = xyzw_from_wxyz(quat)

    def _report(self) -> None:
        """Note on the nodes of environments that they had to be reset, and why."""
        fresh = self.scene.divergence_count - self._reported
        self._reported = self.scene.divergence_count
        node_of = dict(zip(self.envs.tolist(), self.env_entities.tolist(), strict=True))
        for divergence in list(self.scene.divergences)[-fresh:]:
            node = node_of.get(divergence.env)
            if node is not None:
                before = self.world.get(node, Environment)
                self.world.set(
                    node,
                    Environment(
                        index=divergence.env,
                        resets=before.resets + divergence.was_reset,
                        last_divergence=str(divergence),
                    ),
                )
