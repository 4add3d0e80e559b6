"""One entity's model before it joins the scene: loaded, named throughout, with its files in memory."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import numpy as np

from diorama.physics.config import ActuatorCfg, EntityCfg, InitialStateCfg
from diorama.physics.mujoco_import import MjModel, MjSpec, composing, mujoco
from diorama.physics.xml_text import included_files, read_text, without_comments
from diorama.schemas.errors import Problem, SceneError, did_you_mean, reason

KEEP_VISUALS = '<mujoco><compiler discardvisual="false" fusestatic="false" strippath="false"/></mujoco>'
# What a path must lose to be the name of an asset.
UNWANTED = ("..", "/", "package:")
ACTUATOR_KINDS = ("position", "velocity", "motor")
# Element lists of a spec whose members get a name if they have none.
NAMED_KINDS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "site": "sites",
    "actuator": "actuators",
    "sensor": "sensors",
    "tendon": "tendons",
}


@dataclass(frozen=True, slots=True)
class EntitySpec:
    """A spec that is ours to change, complete in memory, and the files its meshes came from, by mesh."""

    spec: MjSpec
    mesh_files: Mapping[str, str]


def entity_spec(name: str, cfg: EntityCfg) -> EntitySpec:
    """Make or read an entity's spec, check that it compiles, and prepare it for being attached."""
    place = f"entity {name!r}"
    if (cfg.spec_fn is None) == (cfg.file is None):
        raise SceneError(f"{place}: expected either spec_fn or file, got {_both(cfg)}")
    _check_initial_state(cfg.init_state, f"{place}: init_state")
    mesh_files: dict[str, str] = {}
    if cfg.file is not None:
        spec = read_spec(cfg.file, place)
        mesh_files = collect_assets(spec, place)
    else:
        assert cfg.spec_fn is not None
        spec = cfg.spec_fn()
        if not isinstance(spec, mujoco.MjSpec):
            raise SceneError(f"{place}: expected spec_fn to return an MjSpec, got {type(spec).__name__}")
    # Copying and attaching drop what refers to nothing; only compiling the original says so.
    model = _compiled_alone(spec, place, str(cfg.file or ""))
    spec = spec.copy()
    if spec.compiler.settotalmass > 0:
        _keep_inertias(spec, model)
    mesh_files |= collect_assets(spec, place)
    name_elements(spec)
    place_fixed_root(spec, cfg.init_state)
    for actuator in cfg.articulation.actuators:
        add_actuators(spec, actuator, name)
    return EntitySpec(spec, mesh_files)


def _compiled_alone(spec: MjSpec, place: str, file: str) -> MjModel:
    # Room for keyframes that a file asks for (`nkey`) would be filled with empty ones.
    spec.nkey = 0
    try:
        with composing():
            return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise SceneError(mujoco_problem(error, place, file)) from error


def _keep_inertias(spec: MjSpec, model: MjModel) -> None:
    """Write the compiled masses into the bodies: a total mass is a wish that attaching forgets."""
    for body in spec.bodies[1:]:
        compiled = model.body(body.id)
        body.explicitinertial = True
        body.mass, body.inertia = float(compiled.mass[0]), compiled.inertia
        body.ipos, body.iquat = compiled.ipos, compiled.iquat
        body.fullinertia = [np.nan] * 6
        body.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    spec.compiler.settotalmass = -1


def _check_initial_state(initial: InitialStateCfg, place: str) -> None:
    """Refuse a start that would make an environment diverge at once."""
    for field, count in (("pos", 3), ("rot", 4), ("lin_vel", 3), ("ang_vel", 3)):
        value = getattr(initial, field)
        if value is not None and (np.shape(value) != (count,) or not np.isfinite(value).all()):
            raise SceneError(f"{place}.{field}: expected {count} finite numbers, got {value}")
    if initial.rot is not None and not any(initial.rot):
        raise SceneError(f"{place}.rot: expected a quaternion w, x, y, z that is not zero")


def _both(cfg: EntityCfg) -> str:
    return "both" if cfg.spec_fn is not None else "neither"


def read_spec(path: str | Path, place: str = "") -> MjSpec:
    """Read an MJCF or URDF file, or a zip of one; of a URDF visuals and fixed links are kept."""
    file = Path(path)
    try:
        if file.suffix.lower() == ".zip":
            with file.open("rb") as archive:
                return mujoco.MjSpec.from_zip(archive)
        text = read_text(file, place)
        bare = without_comments(text)
        if (urdf := re.search(r"<robot\b[^>]*>", bare)) and "<mujoco" not in bare:
            # MuJoCo drops a URDF's visuals while parsing unless the file itself says otherwise.
            text = text[: urdf.end()] + KEEP_VISUALS + text[urdf.end() :]
        elif file.suffix == ".xml":
            return mujoco.MjSpec.from_file(str(file))
        spec = mujoco.MjSpec.from_string(text, include=included_files(text, file.parent))
        spec.modelfiledir = str(file.parent) + "/"
        return spec
    except OSError as error:
        raise SceneError(Problem(f"cannot be read: {reason(error)}", path=place, file=str(path))) from error
    except (ValueError, mujoco.FatalError) as error:
        raise SceneError(mujoco_problem(error, place=place, file=str(path))) from error


def mujoco_problem(error: Exception, place: str, file: str = "") -> Problem:
    """MuJoCo's own message as a problem, with the line number it mentions."""
    message = " ".join(str(error).split())
    line = re.search(r"line(?: number)?[ =](\d+)", message, re.IGNORECASE)
    known = int(line.group(1)) if line and file else 0  # MuJoCo says 0 when it does not know
    return Problem(f"MuJoCo says: {message}", path=place, file=file, line=known or None)


def name_elements(spec: MjSpec) -> None:
    """Give every unnamed body, joint, geom, site, actuator, sensor and tendon a name: `joint_3`."""
    for kind, plural in NAMED_KINDS.items():
        elements = list(getattr(spec, plural))
        taken = {element.name for element in elements}
        for index, element in enumerate(elements):
            if element.name:
                continue
            name = f"{kind}_{index}"
            while name in taken:
                name += "_"
            element.name = name
            taken.add(name)


def place_fixed_root(spec: MjSpec, initial: InitialStateCfg) -> None:
    """Put a root that does not move by itself where the initial state says; others start by keyframe."""
    root = spec.worldbody.first_body()
    if root is None or root.mocap or any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in root.joints):
        return
    if initial.pos is not None:
        root.pos = initial.pos
    if initial.rot is not None:
        root.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
        root.quat = initial.rot


def collect_assets(spec: MjSpec, place: str) -> dict[str, str]:
    """Read the files a spec refers to into its assets, so that it no longer depends on its directory.

    Returns where the meshes' files are, by mesh.
    """
    sources: dict[str, str] = {}
    assets: dict[str, bytes] = dict(spec.assets)
    problems = []
    compilers = []
    for element, attribute, directory in _file_elements(spec):
        compilers.append(element.compiler)
        file = getattr(element, attribute)
        if not file or file in assets:
            continue
        wanted = PurePosixPath(file).name if spec.strippath else file
        if (packed := normpath(PurePosixPath(directory, wanted))) in assets:  # came along in an archive
            setattr(element, attribute, packed)
            continue
        source = _asset_path(Path(spec.modelfiledir), directory, wanted)
        key = "/".join(part for part in PurePosixPath(directory, wanted).parts if part not in UNWANTED)
        try:
            assets[key] = source.read_bytes()
        except OSError as error:
            problems.append(Problem(f"asset cannot be read: {reason(error)}", path=place, file=str(source)))
            continue
        if not element.name:
            element.name = PurePosixPath(wanted).stem
        sources[element.name] = str(source)
        setattr(element, attribute, key)
    if problems:
        raise SceneError(problems)
    if assets:
        for compiler in (spec.compiler, *compilers):
            compiler.meshdir = compiler.texturedir = ""
        spec.assets = assets
    return {mesh.name: sources[mesh.name] for mesh in spec.meshes if mesh.name in sources}


def _asset_path(model_directory: Path, directory: str, wanted: str) -> Path:
    """Where a file is: beside the model, or for `package://name/…` in a package around it."""
    if not wanted.startswith("package://"):
        return model_directory / directory / wanted
    package, _, inside = wanted.removeprefix("package://").partition("/")
    model_directory = model_directory.absolute()
    around = (model_directory, *model_directory.parents)
    places = [base / package / inside for base in around] + [base / inside for base in around]
    return next((place for place in places if place.is_file()), model_directory / inside)


def _file_elements(spec: MjSpec) -> list[tuple[Any, str, str]]:
    """Every element that names a file: element, attribute, directory it is relative to."""
    found = [
        (element, "file", str(element.compiler.meshdir))
        for element in (*spec.meshes, *spec.hfields, *spec.skins)
    ]
    found += [(element, "file", str(element.compiler.texturedir)) for element in spec.textures]
    return [entry for entry in found if getattr(entry[0], entry[1])]


def add_actuators(spec: MjSpec, cfg: ActuatorCfg, entity: str) -> None:
    """Add an actuator named after its joint for each joint the expressions match."""
    if cfg.kind not in ACTUATOR_KINDS:
        near = did_you_mean(cfg.kind, ACTUATOR_KINDS)
        expected = f"expected kind to be one of {listed(ACTUATOR_KINDS)}"
        raise SceneError(f"entity {entity!r}: actuators: {expected}, got {cfg.kind!r}{near}")
    scalar = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    joints = {joint.name: joint for joint in spec.joints if joint.type in scalar}
    for name in matching_names(cfg.target_names_expr, joints, f"entity {entity!r}: actuators"):
        joint = joints[name]
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        if cfg.kind == "position":
            actuator.set_to_position(kp=cfg.stiffness, kv=cfg.damping)
        elif cfg.kind == "velocity":
            actuator.set_to_velocity(kv=cfg.damping)
        else:
            actuator.set_to_motor()
        if cfg.effort_limit is not None:
            actuator.forcelimited = True
            actuator.forcerange = (-cfg.effort_limit, cfg.effort_limit)
        if cfg.armature is not None:
            joint.armature = cfg.armature
        if cfg.frictionloss is not None:
            joint.frictionloss = cfg.frictionloss


def matching_names(expressions: Iterable[str], names: Iterable[str], place: str) -> list[str]:
    """The names that some expression matches as a whole, in their own order; each must match something."""
    known = list(names)
    chosen: set[str] = set()
    for expression in expressions:
        try:
            pattern = re.compile(expression)
        except re.error as error:
            raise SceneError(f"{place}: expected a regular expression, got {expression!r}: {error}") from None
        matched = {name for name in known if pattern.fullmatch(name)}
        if not matched:
            near = did_you_mean(expression, known)
            raise SceneError(f"{place}: nothing matches {expression!r}{near} (known: {listed(known)})")
        chosen |= matched
    return [name for name in known if name in chosen]


def values_by_name(values: Mapping[str, Any], names: Iterable[str], place: str) -> dict[str, Any]:
    """The value of each name an expression matches, later expressions over earlier ones."""
    known = list(names)
    return {
        name: value
        for expression, value in values.items()
        for name in matching_names([expression], known, place)
    }


def listed(names: Iterable[str], limit: int = 20) -> str:
    """Names for an error message, the first few of many."""
    known = list(names)
    shown = ", ".join(known[:limit])
    return f"{shown}, … {len(known) - limit} more" if len(known) > limit else shown or "none"
