"""The parts of a compiled model as plain data: bodies, geoms and sensors, described once for all environments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import component
from diorama.physics.mujoco_import import MjModel, mujoco
from diorama.physics.rotations import rotate, xyzw_from_wxyz

Floats = NDArray[np.float64]
Numbers = tuple[float, ...]
TERRAIN = "terrain"


@component("environment")
@dataclass(frozen=True, slots=True)
class Environment:
    """One of many simulated copies of a scene; `resets` counts those after its numbers went wrong."""

    index: int
    resets: int = 0
    last_divergence: str = ""


@component("body")
@dataclass(frozen=True, slots=True)
class Body:
    """A body of a MuJoCo model: the entity it is part of and its kinematic parent, both by name."""

    entity: str
    parent: str
    mass: float = 0.0


@component("geom")
@dataclass(frozen=True, slots=True)
class Geom:
    """A shape of a body in MuJoCo's terms: half sizes, or radius and half length (m), or a mesh's name."""

    type: str
    size: Numbers
    rgba: Numbers
    mesh: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A geom or sensor at rest on its body: pose in the body's axes, quaternion xyzw."""

    name: str
    body: int
    position: Numbers
    orientation: Numbers
    scale: Numbers
    component: Any
    asset: str = ""


def name_of(model: MjModel, kind: int, index: int, word: str) -> str:
    """The name of an element, or a made-up one."""
    return str(mujoco.mj_id2name(model, kind, index) or f"{word}_{index}")


def body_name(model: MjModel, body: int) -> str:
    """The name of a body."""
    return name_of(model, mujoco.mjtObj.mjOBJ_BODY, body, "body")


def describe_bodies(model: MjModel, bodies: NDArray[np.int64]) -> list[Body]:
    """The component of every body; the world itself is no parent."""
    parents = model.body_parentid[bodies]
    return [
        Body(
            entity=body_name(model, body).split("/")[0] if "/" in body_name(model, body) else "",
            parent=body_name(model, parent) if parent else "",
            mass=float(model.body_mass[body]),
        )
        for body, parent in zip(bodies, parents, strict=True)
    ]


def describe_geoms(model: MjModel, mesh_files: Mapping[str, str]) -> list[Part]:
    """Every geom with its place on its body; a mesh is placed as in its file, not as MuJoCo centres it."""
    parts = []
    for geom in range(model.ngeom):
        kind = mujoco.mjtGeom(int(model.geom_type[geom])).name[len("mjGEOM_") :].lower()
        position, quat, scale = model.geom_pos[geom], model.geom_quat[geom], np.ones(3)
        data, mesh = int(model.geom_dataid[geom]), ""
        if kind in ("mesh", "sdf") and data >= 0:
            mesh = name_of(model, mujoco.mjtObj.mjOBJ_MESH, data, "mesh")
            scale = model.mesh_scale[data]
            back = np.zeros(4)
            mujoco.mju_negQuat(back, model.mesh_quat[data])
            turned = np.zeros(4)
            mujoco.mju_mulQuat(turned, quat, back)
            position, quat = position - rotate(turned, model.mesh_pos[data]), turned
        parts.append(
            Part(
                name=name_of(model, mujoco.mjtObj.mjOBJ_GEOM, geom, "geom") + "#geom",
                body=int(model.geom_bodyid[geom]),
                position=tuple(position.tolist()),
                orientation=tuple(xyzw_from_wxyz(quat).tolist()),
                scale=tuple(scale.tolist()),
                asset=mesh_files.get(mesh, ""),
                component=Geom(
                    type=kind,
                    size=tuple(model.geom_size[geom].tolist()),
                    rgba=tuple(round(float(value), 6) for value in _colour(model, geom)),
                    mesh=mesh,
                    group=int(model.geom_group[geom]),
                ),
            )
        )
    return parts


def _colour(model: MjModel, geom: int) -> Floats:
    material = int(model.geom_matid[geom])
    plain = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)
    own: Floats = model.geom_rgba[geom]
    return model.mat_rgba[material] if material >= 0 and np.array_equal(own, plain) else own


def sensor_frame(model: MjModel, kind: int, index: int) -> tuple[int, Floats, Floats] | None:
    """Body, position and quaternion (w first) of what a sensor sits on; None for joints, tendons and such."""
    obj = mujoco.mjtObj
    if kind == obj.mjOBJ_SITE:
        return int(model.site_bodyid[index]), model.site_pos[index], model.site_quat[index]
    if kind == obj.mjOBJ_GEOM:
        return int(model.geom_bodyid[index]), model.geom_pos[index], model.geom_quat[index]
    if kind == obj.mjOBJ_CAMERA:
        return int(model.cam_bodyid[index]), model.cam_pos[index], model.cam_quat[index]
    if kind == obj.mjOBJ_XBODY:
        return index, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    if kind == obj.mjOBJ_BODY:
        return index, model.body_ipos[index], model.body_iquat[index]
    return None
