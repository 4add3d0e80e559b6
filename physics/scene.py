"""A scene: composed from its configuration, compiled once, stepped in many environments at a time."""

import logging
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.physics.archive import write_directory, write_zip
from diorama.physics.compose import add_origin_sites, compile_model, compose
from diorama.physics.config import SceneCfg
from diorama.physics.entity import SceneEntity
from diorama.physics.entity_spec import listed
from diorama.physics.index import EntityIndex, entity_index
from diorama.physics.keyframes import INIT_KEY, merged_keys
from diorama.physics.mujoco_import import MjModel, MjSpec, mujoco
from diorama.physics.sensor_config import RAY_FRAMES, ContactSensorCfg, RayCastSensorCfg, references
from diorama.physics.sensor_spec import check_reference
from diorama.physics.sensors import BuiltinSensor, ContactSensor, RayCastSensor
from diorama.physics.simulation import Divergence, EnvIds, Ints, Simulation
from diorama.physics.terrain import Terrain
from diorama.schemas.errors import SceneError, StateError, did_you_mean

logger = logging.getLogger(__name__)
Floats = NDArray[np.float64]
Sensor = BuiltinSensor | ContactSensor | RayCastSensor
# How many divergences are remembered; all of them are counted.
REMEMBERED = 1000
# How many of a step are logged one by one.
SPELT_OUT = 5


class Scene:
    """Compose, `compile()`, `initialize()`, then `step()`.

    Environments on a generated terrain are simulated where they stand on it. Without one they do not
    share a space anyway, so each is simulated around zero and its origin is added to whatever is read in
    the world (`…_w`) and taken off whatever is written: fixed bases and things that `spec_fn` puts into
    the world are then in place in every environment.
    """

    def __init__(self, cfg: SceneCfg) -> None:
        self.cfg = cfg
        self.terrain = Terrain(
            cfg.terrain, max(cfg.num_envs, 1), cfg.env_spacing, np.random.default_rng(cfg.seed)
        )
        self._composition = compose(cfg, self.terrain)
        for sensor in cfg.sensors:
            for ref in references(sensor):
                check_reference(self.spec, ref, f"sensor {sensor.key!r}")
            if isinstance(sensor, RayCastSensorCfg) and sensor.frame.type not in RAY_FRAMES:
                expected = f"expected a frame of type {' or '.join(RAY_FRAMES)}"
                raise SceneError(f"sensor {sensor.key!r}: {expected}, got {sensor.frame.type!r}")
        self._simulation: Simulation | None = None
        self._entities: dict[str, SceneEntity] = {}
        self._sensors: dict[str, Sensor] = {}
        self.step_count = 0
        self.reset_counts: Ints = np.zeros(cfg.num_envs, dtype=np.int64)
        self.divergence_count = 0
        self.divergences: deque[Divergence] = deque(maxlen=REMEMBERED)

    @property
    def spec(self) -> MjSpec:
        """The composed `MjSpec`."""
        return self._composition.spec

    @property
    def mesh_files(self) -> Mapping[str, str]:
        """The files that meshes of the composed model came from, by mesh."""
        return self._composition.mesh_files

    @property
    def num_envs(self) -> int:
        """Number of environments, B."""
        return self.cfg.num_envs

    @property
    def env_origins(self) -> Floats:
        """Where environments stand in the world (B, 3), metres, z up."""
        return self.terrain.env_origins

    @cached_property
    def env_offsets(self) -> Floats:
        """What is added to simulated positions to get world positions (B, 3): zero on generated terrain."""
        return np.zeros((self.num_envs, 3)) if self.terrain.generated else self.env_origins

    @cached_property
    def model(self) -> MjModel:
        """The compiled model, with the initial state as its first keyframe."""
        parts = self._composition.parts
        model = compile_model(self.spec, parts)
        for name, state in merged_keys(self.cfg, model, self._composition, self.index(model)).items():
            self.spec.add_key(name=name, **state)
        return compile_model(self.spec, parts)

    def index(self, model: MjModel) -> Mapping[str, EntityIndex]:
        """Where the entities' elements are in a compiled model of this scene."""
        return {name: entity_index(model, name) for name in self.cfg.entities}

    def compile(self) -> MjModel:
        """The compiled `MjModel`; compiling happens once."""
        return self.model

    @property
    def timestep(self) -> float:
        """Simulated seconds per substep."""
        return float(self.model.opt.timestep)

    def initialize(self, nthread: int = 0) -> "Scene":
        """Make the environments on `nthread` threads (0: one per processor) and put them at their start.

        The number of threads changes nothing but the speed.
        """
        model = self.model
        self._simulation = Simulation(model, self.num_envs, nthread)
        self._init_key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, INIT_KEY)
        self._indices = self.index(model)
        self.reset()
        simulation, offsets = self._simulation, self.env_offsets
        self._entities = {
            name: SceneEntity(name, cfg, self._indices[name], simulation, offsets, self._init_key)
            for name, cfg in self.cfg.entities.items()
        }
        self._sensors = self._find_sensors(simulation)
        self.step_count = 0
        self.reset_counts[:] = 0
        self.divergences.clear()
        return self

    def _find_sensors(self, simulation: Simulation) -> dict[str, Sensor]:
        """Configured sensors, and every further one of the model, wherever it came from."""
        sensors: dict[str, Sensor] = {}
        contact_parts = self._composition.contact_parts
        for cfg in self.cfg.sensors:
            if isinstance(cfg, ContactSensorCfg):
                sensors[cfg.key] = ContactSensor(cfg, contact_parts[cfg.key], simulation, self.env_offsets)
            elif isinstance(cfg, RayCastSensorCfg):
                sensors[cfg.key] = RayCastSensor(cfg, simulation, self.env_offsets)
        hidden = {name for parts in contact_parts.values() for name in parts}
        for index in range(simulation.model.nsensor):
            name = simulation.model.sensor(index).name or f"sensor_{index}"
            if name not in hidden and name not in sensors:
                sensors[name] = BuiltinSensor(name, simulation, index)
        return sensors

    @property
    def simulation(self) -> Simulation:
        """The stepped environments; MuJoCo's own batch is `scene.simulation.batch`."""
        if self._simulation is None:
            raise StateError("the scene has no environments yet; call scene.initialize() first")
        return self._simulation

    @property
    def entities(self) -> Mapping[str, SceneEntity]:
        """The entities by name."""
        self.simulation  # noqa: B018  says what to do when there are none yet
        return self._entities

    @property
    def sensors(self) -> Mapping[str, Sensor]:
        """The sensors by name, configured and discovered."""
        self.simulation  # noqa: B018
        return self._sensors

    def __getitem__(self, name: str) -> Any:
        """A SceneEntity, a sensor, or the Terrain; `entities` and `sensors` say which to a type checker."""
        if name == "terrain" and self.cfg.terrain is not None:
            return self.terrain
        known = {**self.entities, **self.sensors}
        if name in known:
            return known[name]
        raise StateError(
            f"the scene has no entity or sensor {name!r}{did_you_mean(name, known)}; "
            f"entities: {listed(self.entities)}; sensors: {listed(self.sensors)}"
        )

    @property
    def ctrl(self) -> Floats:
        """Controls of all actuators (B, nu): write to it before a step."""
        return self.simulation.ctrl

    @property
    def time(self) -> Floats:
        """Simulated time per environment since its reset (B,), seconds."""
        return self.simulation.time

    @property
    def pose_time(self) -> Floats:
        """The simulated time that poses belong to (B,): one substep behind `time` after a plain step."""
        return self.simulation.pose_time

    def step(self, nstep: int = 1, current: bool = False) -> Ints:
        """Advance every environment by `nstep` substeps; returns the environments that had to be reset.

        Poses and sensors read afterwards are those of the last substep's beginning, as MuJoCo leaves them,
        or with `current` poses are those of the new state. An environment whose numbers are no longer
        finite is put back to its start, logged, counted in `reset_counts`, and kept in `divergences`.
        """
        simulation = self.simulation
        failed = simulation.step(nstep, current)
        self.step_count += 1
        self._report(simulation.take_warnings(), was_reset=False)
        if not failed:
            return np.zeros(0, dtype=np.int64)
        self._report(failed, was_reset=True)
        ids = np.array(sorted(failed), dtype=np.int64)
        self.reset(ids)
        return ids

    def _report(self, reasons: Mapping[int, str], was_reset: bool) -> None:
        """Remember and log what went wrong in which environments; of very many, the first few are spelt out."""
        for place, (env, reason) in enumerate(sorted(reasons.items())):
            divergence = Divergence(env=env, step=self.step_count, reason=reason, was_reset=was_reset)
            self.divergences.append(divergence)
            self.divergence_count += 1
            if place < SPELT_OUT:
                logger.warning("%s", divergence)
        if len(reasons) > SPELT_OUT:
            logger.warning("and %d environments more at step %d", len(reasons) - SPELT_OUT, self.step_count)

    def reset(self, env_ids: EnvIds = None) -> None:
        """Put environments back to the initial state, at their origins."""
        simulation = self.simulation
        ids = simulation.ids(env_ids)
        simulation.reset(ids, self._init_key)
        self.reset_counts[ids] += 1
        self._place(simulation, np.arange(self.num_envs)[ids])

    def _place(self, simulation: Simulation, ids: Ints) -> None:
        """Put what hangs on the world to its place: by its free joint, as mocap body, or in the model.

        State was just reset, so on a plane only fixed bases that were moved are not there yet.
        """
        model = simulation.model
        origins = (self.env_origins - self.env_offsets)[ids]
        for body in (body for index in self._indices.values() for body in index.tops):
            joint = int(model.body_jntadr[body])
            if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                address = int(model.jnt_qposadr[joint])
                simulation.qpos[ids, address : address + 3] += origins
            elif model.body_mocapid[body] >= 0:
                simulation.batch.bind("mocap_pos")[ids, model.body_mocapid[body]] += origins
            else:
                if self.terrain.generated is not None or "body_pos" in simulation.expanded:
                    simulation.expand("body_pos")[ids, body] = model.body_pos[body] + origins
                if "body_quat" in simulation.expanded:
                    simulation.expand("body_quat")[ids, body] = model.body_quat[body]
        simulation.written(ids)

    def to_zip(self, path: str | Path) -> Path:
        """Write the scene as a zip that MuJoCo opens: XML, every asset, the initial state, origin markers."""
        return write_zip(self._export(), path)

    def write(self, path: str | Path, zip: bool = False) -> Path:  # noqa: A002  mjlab's name
        """Write the scene into a directory, or as a zip; the name mjlab uses."""
        if zip:
            return self.to_zip(Path(path).with_suffix(".zip"))
        return write_directory(self._export(), path)

    def _export(self) -> MjSpec:
        self.compile()
        spec = self.spec.copy()
        if self.cfg.terrain is not None and not self.cfg.terrain.origin_sites:
            add_origin_sites(spec, self.env_origins)
        return spec
