"""Where an entity's elements are in the compiled model."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diorama.physics.mujoco_import import MjModel, mujoco

Ints = NDArray[np.int64]
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
# Numbers per joint in qpos and qvel, by mjtJoint: free, ball, slide, hinge.
Q_WIDTH = (7, 4, 1, 1)
V_WIDTH = (6, 3, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityIndex:
    """Ids and addresses of one entity; names are without the entity's prefix.

    The root is the entity's first body. It is floating if its first joint is a free joint; that joint is
    then not among the joints. `joint_qpos` and `joint_qvel` are addresses of all joints' numbers, and the
    slices say which of those columns belong to which joint (one, except for ball and further free joints).
    `tops` are the bodies that hang on the world.
    """

    bodies: Ints
    body_names: list[str]
    tops: Ints
    geoms: Ints
    geom_names: list[str]
    sites: Ints
    site_names: list[str]
    joints: Ints
    joint_names: list[str]
    joint_qpos: Ints
    joint_qvel: Ints
    joint_q_slices: list[slice]
    joint_v_slices: list[slice]
    qpos_all: Ints
    qvel_all: Ints
    actuators: Ints
    actuator_names: list[str]
    act: Ints
    tendons: Ints
    tendon_names: list[str]
    sensors: list[str]
    mocap: Ints
    root: int
    floating: bool
    root_qpos: int
    root_qvel: int
    root_mocap: int


def _prefixed(model: MjModel, kind: int, count: int, prefix: str) -> tuple[Ints, list[str]]:
    """Ids of the elements of a kind whose names begin with the prefix, and the rest of their names."""
    names = [mujoco.mj_id2name(model, kind, index) or "" for index in range(count)]
    ids = [index for index, name in enumerate(names) if name.startswith(prefix)]
    return np.array(ids, dtype=np.int64), [names[index][len(prefix) :] for index in ids]


def _spread(starts: Ints, widths: list[int]) -> tuple[Ints, list[slice]]:
    """All addresses of elements that begin at `starts`, and the columns each takes in that list."""
    addresses = [
        start + offset for start, width in zip(starts, widths, strict=True) for offset in range(width)
    ]
    ends = np.cumsum([0, *widths])
    slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    return np.array(addresses, dtype=np.int64), slices


def entity_index(model: MjModel, name: str) -> EntityIndex:
    """Find everything whose name begins with the entity's name and a slash."""
    prefix, obj = f"{name}/", mujoco.mjtObj
    bodies, body_names = _prefixed(model, obj.mjOBJ_BODY, model.nbody, prefix)
    geoms, geom_names = _prefixed(model, obj.mjOBJ_GEOM, model.ngeom, prefix)
    sites, site_names = _prefixed(model, obj.mjOBJ_SITE, model.nsite, prefix)
    joints, joint_names = _prefixed(model, obj.mjOBJ_JOINT, model.njnt, prefix)
    actuators, actuator_names = _prefixed(model, obj.mjOBJ_ACTUATOR, model.nu, prefix)
    tendons, tendon_names = _prefixed(model, obj.mjOBJ_TENDON, model.ntendon, prefix)
    _, sensors = _prefixed(model, obj.mjOBJ_SENSOR, model.nsensor, prefix)
    kinds = [int(kind) for kind in model.jnt_type[joints]]
    qpos_all, _ = _spread(model.jnt_qposadr[joints], [Q_WIDTH[kind] for kind in kinds])
    qvel_all, _ = _spread(model.jnt_dofadr[joints], [V_WIDTH[kind] for kind in kinds])
    root = int(bodies[0]) if bodies.size else 0
    floating = bool(
        kinds
        and kinds[0] == FREE
        and root
        and model.jnt_bodyid[joints[0]] == root  # a free joint comes first
    )
    root_joint = int(joints[0]) if floating else -1
    if floating:
        joints, joint_names, kinds = joints[1:], joint_names[1:], kinds[1:]
    joint_qpos, q_slices = _spread(model.jnt_qposadr[joints], [Q_WIDTH[kind] for kind in kinds])
    joint_qvel, v_slices = _spread(model.jnt_dofadr[joints], [V_WIDTH[kind] for kind in kinds])
    act, _ = _spread(
        np.maximum(model.actuator_actadr[actuators], 0), [int(n) for n in model.actuator_actnum[actuators]]
    )
    mocap = model.body_mocapid[bodies].astype(np.int64)
    return EntityIndex(
        bodies=bodies,
        body_names=body_names,
        tops=bodies[model.body_parentid[bodies] == 0],
        geoms=geoms,
        geom_names=geom_names,
        sites=sites,
        site_names=site_names,
        joints=joints,
        joint_names=joint_names,
        joint_qpos=joint_qpos,
        joint_qvel=joint_qvel,
        joint_q_slices=q_slices,
        joint_v_slices=v_slices,
        qpos_all=qpos_all,
        qvel_all=qvel_all,
        actuators=actuators,
        actuator_names=actuator_names,
        act=act,
        tendons=tendons,
        tendon_names=tendon_names,
        sensors=sensors,
        mocap=mocap[mocap >= 0],
        root=root,
        floating=floating,
        root_qpos=int(model.jnt_qposadr[root_joint]) if floating else -1,
        root_qvel=int(model.jnt_dofadr[root_joint]) if floating else -1,
        root_mocap=int(model.body_mocapid[root]),
    )


def as_columns(addresses: Ints) -> slice | Ints:
    """The addresses as a slice when they are consecutive, since slicing copies nothing."""
    if addresses.size and np.array_equal(addresses, np.arange(addresses[0], addresses[0] + addresses.size)):
        return slice(int(addresses[0]), int(addresses[-1]) + 1)
    return addresses
