"""The state a scene starts from: every entity's keyframe and initial state, merged by address."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.physics.compose import Composition, SavedKey
from diorama.physics.config import EntityCfg, SceneCfg
from diorama.physics.entity_spec import values_by_name
from diorama.physics.index import EntityIndex
from diorama.physics.mujoco_import import MjModel
from diorama.physics.rotations import rotation_matrix
from diorama.schemas.errors import SceneError

Floats = NDArray[np.float64]
INIT_KEY = "init_state"


def merged_keys(
    cfg: SceneCfg, model: MjModel, composition: Composition, index: Mapping[str, EntityIndex]
) -> dict[str, dict[str, Floats]]:
    """Keyframes of the scene: `init_state` first, then the entities' further ones as `robot/<key>`.

    In a further keyframe the other entities are in their initial state.
    """
    start = _reference_state(model)
    for name, entity in cfg.entities.items():
        if composition.keys[name]:
            _apply_key(start, composition.keys[name][0], index[name], name)
        _apply_initial_state(start, entity, index[name], name)
    keys = {INIT_KEY: start}
    for name, saved in composition.keys.items():
        for number, key in enumerate(saved):
            full = f"{name}/{key.name or f'key_{number}'}"
            keys[full] = {field: values.copy() for field, values in start.items()}
            _apply_key(keys[full], key, index[name], name)
    return keys


def _reference_state(model: MjModel) -> dict[str, Floats]:
    """The state MuJoCo resets to without a keyframe."""
    mocap_bodies = np.flatnonzero(model.body_mocapid >= 0)
    order = mocap_bodies[np.argsort(model.body_mocapid[mocap_bodies])]
    return {
        "qpos": model.qpos0.copy(),
        "qvel": np.zeros(model.nv),
        "act": np.zeros(model.na),
        "ctrl": np.zeros(model.nu),
        "mpos": model.body_pos[order].ravel(),
        "mquat": model.body_quat[order].ravel(),
    }


def _apply_key(state: dict[str, Floats], key: SavedKey, index: EntityIndex, name: str) -> None:
    """Write an entity's keyframe to where its joints, actuators and mocap bodies are in the scene."""
    places = {
        "qpos": index.qpos_all,
        "qvel": index.qvel_all,
        "act": index.act,
        "ctrl": index.actuators,
        "mpos": (index.mocap[:, None] * 3 + np.arange(3)).ravel(),
        "mquat": (index.mocap[:, None] * 4 + np.arange(4)).ravel(),
    }
    for field, addresses in places.items():
        values: Floats = getattr(key, field)
        if not values.size or np.isnan(values).all():
            continue
        if field == "ctrl" and values.size < addresses.size:
            # The file knows nothing of actuators that the configuration added.
            addresses = addresses[: values.size]
        if values.size != addresses.size:
            raise SceneError(
                f"entity {name!r}: keyframe {key.name!r}: expected {addresses.size} numbers for {field}, "
                f"got {values.size}"
            )
        known = ~np.isnan(values)
        state[field][addresses[known]] = values[known]


def _apply_initial_state(state: dict[str, Floats], entity: EntityCfg, index: EntityIndex, name: str) -> None:
    initial = entity.init_state
    if index.floating:
        q, v = index.root_qpos, index.root_qvel
        if initial.pos is not None:
            state["qpos"][q : q + 3] = initial.pos
        if initial.rot is not None:
            state["qpos"][q + 3 : q + 7] = np.divide(initial.rot, np.linalg.norm(initial.rot))
        if any(initial.lin_vel):
            state["qvel"][v : v + 3] = initial.lin_vel
        if any(initial.ang_vel):
            from_world = rotation_matrix(state["qpos"][q + 3 : q + 7]).T
            state["qvel"][v + 3 : v + 6] = from_world @ np.asarray(initial.ang_vel)
    elif index.root_mocap >= 0:
        m = index.root_mocap
        if initial.pos is not None:
            state["mpos"][3 * m : 3 * m + 3] = initial.pos
        if initial.rot is not None:
            state["mquat"][4 * m : 4 * m + 4] = np.divide(initial.rot, np.linalg.norm(initial.rot))
    _apply_joints(state["qpos"], initial.joint_pos, index, index.joint_q_slices, name, "joint_pos")
    _apply_joints(state["qvel"], initial.joint_vel, index, index.joint_v_slices, name, "joint_vel")


def _apply_joints(
    values: Floats,
    given: Mapping[str, Any] | None,
    index: EntityIndex,
    slices: list[slice],
    name: str,
    field: str,
) -> None:
    if not given:
        return
    if not index.joint_names:
        raise SceneError(f"entity {name!r}: init_state.{field}: the entity has no joints")
    place = f"entity {name!r}: init_state.{field}"
    addresses = index.joint_qpos if field == "joint_pos" else index.joint_qvel
    for joint, value in values_by_name(given, index.joint_names, place).items():
        target = addresses[slices[index.joint_names.index(joint)]]
        wanted = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if wanted.size not in (1, target.size):
            raise SceneError(f"{place}: {joint!r}: expected {target.size} numbers, got {wanted.size}")
        values[target] = wanted
