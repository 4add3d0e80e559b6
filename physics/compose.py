"""From a scene's configuration to one MuJoCo model: entities attached under their name, then compiled.

Order: terrain, entities, sensors, `spec_fn`. Nothing here knows about environments or time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.physics.config import SceneCfg
from diorama.physics.entity_spec import entity_spec, listed, mujoco_problem
from diorama.physics.mujoco_import import MjModel, MjSpec, composing, mujoco, route_warnings
from diorama.physics.sensor_config import BuiltinSensorCfg, ContactSensorCfg
from diorama.physics.sensor_spec import add_builtin_sensor, add_contact_sensor
from diorama.physics.terrain import GeneratedTerrain, Terrain
from diorama.schemas.errors import Problem, SceneError, did_you_mean

# Options given by name in configurations: field -> prefix of MuJoCo's enumeration.
ENUMERATIONS = {
    "integrator": ("mjtIntegrator", "mjINT_"),
    "cone": ("mjtCone", "mjCONE_"),
    "solver": ("mjtSolver", "mjSOL_"),
    "jacobian": ("mjtJacobian", "mjJAC_"),
}
ORIGIN_GROUP = 4
ORIGIN_RADIUS = 0.05  # metres
# Height fields need some thickness; patches flatter than this become boxes. Metres.
FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class SavedKey:
    """A keyframe of an entity, taken out of its spec before attaching."""

    name: str
    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    act: NDArray[np.float64]
    ctrl: NDArray[np.float64]
    mpos: NDArray[np.float64]
    mquat: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composition:
    """The composed spec, each entity's keyframes and own spec, the names of sensors made for contact sensors,
    and the files meshes came from.
    """

    spec: MjSpec
    keys: Mapping[str, list[SavedKey]]
    parts: Mapping[str, MjSpec]
    contact_parts: Mapping[str, list[str]]
    mesh_files: Mapping[str, str]


def compose(cfg: SceneCfg, terrain: Terrain) -> Composition:
    """Compose the scene's spec; everything wrong with names is reported at once."""
    _check_names(cfg)
    route_warnings()
    spec = mujoco.MjSpec()
    spec.modelname = "scene"
    entities = {name: entity_spec(name, entity) for name, entity in cfg.entities.items()}
    parts = {name: entity.spec for name, entity in entities.items()}
    _merge_options(spec, parts, cfg.option)
    if cfg.extent is not None:
        spec.stat.extent = cfg.extent
    if cfg.terrain is not None:
        add_terrain(spec, terrain)
        if cfg.terrain.origin_sites:
            add_origin_sites(spec, terrain.env_origins)
    keys = {name: _take_keys(part) for name, part in parts.items()}
    with composing():
        for name, part in parts.items():
            spec.attach(part, prefix=f"{name}/", frame=spec.worldbody.add_frame())
            _rename_field_files(spec, name)
    contact_parts = {}
    for sensor in cfg.sensors:
        if isinstance(sensor, BuiltinSensorCfg):
            add_builtin_sensor(spec, sensor)
        elif isinstance(sensor, ContactSensorCfg):
            contact_parts[sensor.key] = add_contact_sensor(spec, sensor)
    if cfg.spec_fn is not None:
        try:
            cfg.spec_fn(spec)
        except ValueError as error:
            if not str(error).startswith("Error:"):  # the user's own, not MuJoCo's
                raise
            raise SceneError(mujoco_problem(error, place="spec_fn")) from error
    spec.nkey = 0
    mesh_files = {
        f"{name}/{mesh}": file
        for name, entity in entities.items()
        for mesh, file in entity.mesh_files.items()
    }
    return Composition(spec=spec, keys=keys, parts=parts, contact_parts=contact_parts, mesh_files=mesh_files)


def _rename_field_files(spec: MjSpec, entity: str) -> None:
    """Let height fields follow their files, which attaching renames for meshes and textures only."""
    for element in (*spec.hfields, *spec.skins):
        file = PurePosixPath(element.file)
        renamed = str(file.parent / entity / file.name)
        if (
            element.name.startswith(f"{entity}/")
            and element.file not in spec.assets
            and renamed in spec.assets
        ):
            element.file = renamed


def _check_names(cfg: SceneCfg) -> None:
    problems = []
    if cfg.num_envs < 1:
        problems.append(Problem(f"expected at least one environment, got {cfg.num_envs}", path="num_envs"))
    for name in cfg.entities:
        place = f"entity {name!r}"
        if not name or "/" in name:
            problems.append(Problem("a name must not be empty nor contain '/'", path=place))
        if name == "terrain":
            problems.append(Problem("'terrain' is the name of the ground; choose another", path=place))
    seen = {*cfg.entities, "terrain"}
    for sensor in cfg.sensors:
        if sensor.key in seen:
            problems.append(
                Problem("the name is already taken; choose another", path=f"sensor {sensor.key!r}")
            )
        seen.add(sensor.key)
    if problems:
        raise SceneError(problems)


def _merge_options(spec: MjSpec, parts: Mapping[str, MjSpec], given: Mapping[str, Any]) -> None:
    """Settle MuJoCo's options: the configuration's, else what entities ask for, else the defaults.

    Two entities that ask for different things get the smaller time step, all flags, and for anything
    else an error. The result is written into every part as well, so that attaching meets no conflict.
    """
    defaults = mujoco.MjSpec().option
    fields = [field for field in dir(defaults) if not field.startswith("_")]
    problems = [
        Problem(f"MuJoCo has no such option{did_you_mean(field, fields)}", path=f"option {field!r}")
        for field in given
        if field not in fields
    ]
    settled: dict[str, Any] = {}
    for field in fields:
        asked = {
            name: value
            for name, part in parts.items()
            if not np.array_equal(value := getattr(part.option, field), getattr(defaults, field))
        }
        if field in given:
            settled[field] = _option_value(field, given[field])
        elif asked:
            values = list(asked.values())
            if field == "timestep":
                settled[field] = min(values)
            elif field in ("enableflags", "disableflags", "disableactuator"):
                settled[field] = int(np.bitwise_or.reduce([int(value) for value in values]))
            elif all(np.array_equal(value, values[0]) for value in values):
                settled[field] = values[0]
            else:
                wishes = ", ".join(f"{name} wants {value}" for name, value in asked.items())
                problems.append(
                    Problem(
                        f"{wishes}; say which with SceneCfg(option={{{field!r}: …}})",
                        path=f"option {field!r}",
                    )
                )
    if problems:
        raise SceneError(problems)
    for field, value in settled.items():
        try:
            for target in (spec, *parts.values()):
                setattr(target.option, field, value)
        except TypeError:
            usual = getattr(defaults, field)
            raise SceneError(f"option {field!r}: expected a value such as {usual}, got {value!r}") from None
    if not 0 < spec.option.timestep < np.inf:
        raise SceneError(f"option 'timestep': expected a number above 0, got {spec.option.timestep}")
    # Memory that every file sizes for itself adds up; where one leaves it to MuJoCo, so do we.
    memory = [part.memory for part in parts.values()]
    spec.memory = sum(memory) if memory and min(memory) > 0 else -1
    spec.nuserdata = max([part.nuserdata for part in parts.values()], default=0)


def _option_value(field: str, value: Any) -> Any:
    if field in ENUMERATIONS and isinstance(value, str):
        enumeration, prefix = ENUMERATIONS[field]
        choice = getattr(getattr(mujoco, enumeration), prefix + value.upper(), None)
        if choice is None:
            raise SceneError(f"option {field!r}: MuJoCo knows no {value!r}")
        return choice
    return value


def _take_keys(part: MjSpec) -> list[SavedKey]:
    """Remove an entity's keyframes from its spec and return them."""
    keys = []
    for key in list(part.keys):
        fields = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
        keys.append(
            SavedKey(key.name, *(np.array(getattr(key, field), dtype=np.float64).ravel() for field in fields))
        )
        part.delete(key)
    part.nkey = 0
    return keys


def add_terrain(spec: MjSpec, terrain: Terrain) -> None:
    """Add the ground as the body `terrain`, without a prefix, straight into the scene's own spec.

    Attaching it with an empty prefix, the other way to keep its names bare, makes models that cannot be
    saved faithfully.
    """
    assert terrain.cfg is not None
    body = spec.worldbody.add_body(name="terrain")
    look = {"rgba": terrain.cfg.rgba, "friction": terrain.cfg.friction}
    if terrain.generated is None:
        body.add_geom(name="terrain", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.01), **look)
        return
    boxes, fields = _terrain_geometry(terrain.generated)
    for index, box in enumerate(boxes):
        body.add_geom(
            name=f"terrain_{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=box[:3],
            size=box[3:],
            mass=0,
            **look,
        )
    size = terrain.cfg.terrain_generator.size if terrain.cfg.terrain_generator else (0.0, 0.0)
    for index, (corner, heights) in enumerate(fields):
        low, span = heights.min(), np.ptp(heights)
        name = f"terrain_{len(boxes) + index}"
        spec.add_hfield(
            name=name,
            nrow=heights.shape[0],
            ncol=heights.shape[1],
            size=(size[0] / 2, size[1] / 2, span, 1.0),
            userdata=((heights - low) / span).ravel(),
        )
        body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_HFIELD,
            hfieldname=name,
            pos=(corner[0] + size[0] / 2, corner[1] + size[1] / 2, low),
            mass=0,
            **look,
        )


def _terrain_geometry(
    generated: GeneratedTerrain,
) -> tuple[NDArray[np.float64], list[tuple[tuple[float, float], NDArray[np.float64]]]]:
    """All boxes in the world (n, 6), and the height fields with their corners; flat ones become boxes."""
    boxes, fields = [generated.border], []
    for placed in generated.patches:
        patch = placed.patch
        found = patch.boxes
        if patch.heights is not None and np.ptp(patch.heights) > FLAT:
            fields.append((placed.corner, patch.heights))
        elif patch.heights is not None:
            level = float(patch.heights.flat[0])
            half = (patch.origin[0], patch.origin[1], 0.5)
            found = np.array([[half[0], half[1], level - 0.5, *half]])
        boxes.append(found + np.array([*placed.corner, 0, 0, 0, 0]))
    return np.concatenate(boxes), fields


def add_origin_sites(spec: MjSpec, origins: NDArray[np.float64]) -> None:
    """Mark every distinct origin with a sphere that MuJoCo's viewer hides unless group 4 is shown."""
    for index, origin in enumerate(np.unique(origins, axis=0)):
        spec.worldbody.add_site(
            name=f"env_origin_{index}",
            pos=origin,
            size=(ORIGIN_RADIUS,) * 3,
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            group=ORIGIN_GROUP,
            rgba=(0.2, 0.6, 0.2, 0.4),
        )


def compile_model(spec: MjSpec, parts: Mapping[str, MjSpec]) -> MjModel:
    """Compile; a failure says what MuJoCo said and which entity it came from."""
    try:
        with composing():
            return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise SceneError(mujoco_problem(error, place=_culprit(error, parts))) from error


def _culprit(error: Exception, parts: Mapping[str, MjSpec]) -> str:
    """The entity whose element MuJoCo names; each compiled alone before, so else it is the composition."""
    named = [name for name in parts if f"'{name}/" in str(error)]
    return f"entity {named[0]!r}" if named else f"composed scene (entities: {listed(parts)})"
