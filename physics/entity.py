"""One entity of a running scene: what it is doing in every environment, and how to change that.

Poses are position and quaternion (w first) in seven columns; `_w` is the world of the scene (m, z up),
origins of environments included. Arrays read here must not be written to: use the write functions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.physics.config import EntityCfg
from diorama.physics.entity_spec import matching_names
from diorama.physics.index import EntityIndex, as_columns
from diorama.physics.rotations import normalized, rotate, rotate_inverse, yaw
from diorama.physics.simulation import EnvIds, Simulation
from diorama.schemas.errors import StateError

Floats = NDArray[np.float64]


def _read_only(values: Floats) -> Floats:
    view = values.view()
    view.flags.writeable = False
    return view


class EntityData:
    """The state of an entity in all environments, B, as arrays."""

    def __init__(
        self, simulation: Simulation, index: EntityIndex, offsets: Floats, cfg: EntityCfg, key: int
    ) -> None:
        self._sim = simulation
        self._index = index
        self._offsets = offsets
        self._q = as_columns(index.joint_qpos)
        self._v = as_columns(index.joint_qvel)
        model = simulation.model
        start_q, start_v = model.key_qpos[key], model.key_qvel[key]
        envs = simulation.num_envs
        self.default_joint_pos = _read_only(np.tile(start_q[index.joint_qpos], (envs, 1)))
        self.default_joint_vel = _read_only(np.tile(start_v[index.joint_qvel], (envs, 1)))
        self.default_root_pose = _read_only(np.tile(self._start_pose(key), (envs, 1)))
        velocity = np.zeros(6)
        if index.floating:
            v = index.root_qvel
            velocity[:3] = start_v[v : v + 3]
            velocity[3:] = rotate(self.default_root_pose[0, 3:], start_v[v + 3 : v + 6])
        self.default_root_state = _read_only(
            np.concatenate([self.default_root_pose, np.tile(velocity, (envs, 1))], axis=1)
        )
        self.joint_pos_limits = _read_only(model.jnt_range[index.joints].astype(np.float64))
        middle = self.joint_pos_limits.mean(axis=1, keepdims=True)
        soft = cfg.articulation.soft_joint_pos_limit_factor
        self.soft_joint_pos_limits = _read_only(middle + (self.joint_pos_limits - middle) * soft)

    def _start_pose(self, key: int) -> Floats:
        model, index = self._sim.model, self._index
        if index.floating:
            return np.array(model.key_qpos[key][index.root_qpos : index.root_qpos + 7])
        if index.root_mocap >= 0:
            m = index.root_mocap
            return np.concatenate(
                [model.key_mpos[key].reshape(-1, 3)[m], model.key_mquat[key].reshape(-1, 4)[m]]
            )
        return np.concatenate([model.body_pos[index.root], model.body_quat[index.root]])

    def _poses(self, pos: Floats, quat: Floats) -> Floats:
        """Poses in the world from MuJoCo's arrays (B, n, 3) and (B, n, 4)."""
        return np.concatenate([pos + self._offsets[:, None], quat], axis=-1)

    @property
    def joint_pos(self) -> Floats:
        """Joint positions (B, columns): a column per joint, four for a ball joint; no copy where possible."""
        return _read_only(self._sim.qpos[:, self._q])

    @property
    def joint_vel(self) -> Floats:
        """Joint velocities (B, columns): a column per joint, three for a ball joint."""
        return _read_only(self._sim.qvel[:, self._v])

    @property
    def joint_acc(self) -> Floats:
        """Joint accelerations (B, columns)."""
        return _read_only(self._sim.derived("qacc")[:, self._v])

    @property
    def root_link_pose_w(self) -> Floats:
        """Pose of the root (B, 7); of a floating root always that of the current state."""
        if self._index.floating:
            pose = self._sim.qpos[:, self._index.root_qpos : self._index.root_qpos + 7].copy()
            pose[:, :3] += self._offsets
            return pose
        return self.body_link_pose_w[:, 0]

    @property
    def root_link_vel_w(self) -> Floats:
        """Linear (m/s) and angular (rad/s) velocity of the root (B, 6), both in the world's axes."""
        if not self._index.floating:
            return self.body_link_vel_w[:, 0]
        v = self._index.root_qvel
        linear, angular = self._sim.qvel[:, v : v + 3], self._sim.qvel[:, v + 3 : v + 6]
        return np.concatenate([linear, rotate(self.root_link_quat_w, angular)], axis=1)

    @property
    def root_link_pos_w(self) -> Floats:
        """Position of the root (B, 3)."""
        return self.root_link_pose_w[:, :3]

    @property
    def root_link_quat_w(self) -> Floats:
        """Orientation of the root (B, 4)."""
        return self.root_link_pose_w[:, 3:]

    @property
    def root_link_lin_vel_w(self) -> Floats:
        """Linear velocity of the root (B, 3)."""
        return self.root_link_vel_w[:, :3]

    @property
    def root_link_ang_vel_w(self) -> Floats:
        """Angular velocity of the root (B, 3)."""
        return self.root_link_vel_w[:, 3:]

    @property
    def root_link_lin_vel_b(self) -> Floats:
        """Linear velocity of the root in its own axes (B, 3)."""
        return rotate_inverse(self.root_link_quat_w, self.root_link_lin_vel_w)

    @property
    def root_link_ang_vel_b(self) -> Floats:
        """Angular velocity of the root in its own axes (B, 3)."""
        return rotate_inverse(self.root_link_quat_w, self.root_link_ang_vel_w)

    @property
    def projected_gravity_b(self) -> Floats:
        """The direction of down in the root's axes (B, 3)."""
        down = np.broadcast_to([0.0, 0.0, -1.0], (self._sim.num_envs, 3))
        return rotate_inverse(self.root_link_quat_w, down)

    @property
    def heading_w(self) -> Floats:
        """Where the root's x axis points (B,), rad counter-clockwise from the world's x."""
        return yaw(self.root_link_quat_w)

    @property
    def body_link_pose_w(self) -> Floats:
        """Poses of the bodies (B, bodies, 7)."""
        bodies = as_columns(self._index.bodies)
        return self._poses(self._sim.derived("xpos")[:, bodies], self._sim.derived("xquat")[:, bodies])

    @property
    def body_link_vel_w(self) -> Floats:
        """Linear and angular velocities of the bodies' frames in the world's axes (B, bodies, 6)."""
        model, bodies = self._sim.model, as_columns(self._index.bodies)
        # MuJoCo gives velocities at the centre of mass of the whole tree a body belongs to.
        twist = self._sim.derived("cvel")[:, bodies]
        centre = self._sim.derived("subtree_com")[:, model.body_rootid[self._index.bodies]]
        arm = self._sim.derived("xpos")[:, bodies] - centre
        angular = twist[..., :3]
        return np.concatenate([twist[..., 3:] + np.cross(angular, arm), angular], axis=-1)

    @property
    def geom_pose_w(self) -> Floats:
        """Poses of the geoms (B, geoms, 7)."""
        geoms = as_columns(self._index.geoms)
        return self._poses(
            self._sim.derived("geom_xpos")[:, geoms], self._sim.derived("geom_xquat")[:, geoms]
        )

    @property
    def site_pose_w(self) -> Floats:
        """Poses of the sites (B, sites, 7)."""
        sites = as_columns(self._index.sites)
        return self._poses(
            self._sim.derived("site_xpos")[:, sites], self._sim.derived("site_xquat")[:, sites]
        )

    @property
    def tendon_len(self) -> Floats:
        """Lengths of the tendons (B, tendons)."""
        return _read_only(self._sim.derived("ten_length")[:, as_columns(self._index.tendons)])

    @property
    def actuator_force(self) -> Floats:
        """Forces of the actuators (B, actuators)."""
        return _read_only(self._sim.derived("actuator_force")[:, as_columns(self._index.actuators)])


class SceneEntity:
    """An entity by name: its names, its data, and writing to it. `env_ids` None means every environment."""

    def __init__(
        self,
        name: str,
        cfg: EntityCfg,
        index: EntityIndex,
        simulation: Simulation,
        offsets: Floats,
        key: int,
    ) -> None:
        self.name = name
        self.cfg = cfg
        self.index = index
        self.data = EntityData(simulation, index, offsets, cfg, key)
        self._sim = simulation
        self._offsets = offsets

    @property
    def is_fixed_base(self) -> bool:
        """Whether the root moves only when it is placed."""
        return not self.index.floating

    @property
    def num_joints(self) -> int:
        """Number of joints, a floating root's own not counted."""
        return len(self.index.joint_names)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints, in the order of the columns."""
        return self.index.joint_names

    @property
    def body_names(self) -> list[str]:
        """Names of the bodies, root first."""
        return self.index.body_names

    @property
    def actuator_names(self) -> list[str]:
        """Names of the actuators."""
        return self.index.actuator_names

    def find_joints(self, name_keys: str | Sequence[str]) -> tuple[list[int], list[str]]:
        """Indices and names of joints whose whole name matches one of the expressions."""
        return self._find(name_keys, self.index.joint_names)

    def find_bodies(self, name_keys: str | Sequence[str]) -> tuple[list[int], list[str]]:
        """Indices and names of bodies whose whole name matches one of the expressions."""
        return self._find(name_keys, self.index.body_names)

    def find_geoms(self, name_keys: str | Sequence[str]) -> tuple[list[int], list[str]]:
        """Indices and names of geoms whose whole name matches one of the expressions."""
        return self._find(name_keys, self.index.geom_names)

    def find_sites(self, name_keys: str | Sequence[str]) -> tuple[list[int], list[str]]:
        """Indices and names of sites whose whole name matches one of the expressions."""
        return self._find(name_keys, self.index.site_names)

    def find_actuators(self, name_keys: str | Sequence[str]) -> tuple[list[int], list[str]]:
        """Indices and names of actuators whose whole name matches one of the expressions."""
        return self._find(name_keys, self.index.actuator_names)

    def _find(self, name_keys: str | Sequence[str], names: list[str]) -> tuple[list[int], list[str]]:
        expressions = [name_keys] if isinstance(name_keys, str) else name_keys
        found = matching_names(expressions, names, f"entity {self.name!r}")
        return [names.index(name) for name in found], found

    def write_root_pose_to_sim(self, pose: ArrayLike, env_ids: EnvIds = None) -> None:
        """Place the root: poses (N, 7) in the world. A fixed base is moved as well."""
        ids = self._sim.ids(env_ids)
        values = self._rows(pose, ids, 7, "pose")
        try:
            position, quat = values[:, :3] - self._offsets[ids], normalized(values[:, 3:])
        except ValueError as error:
            raise StateError(f"entity {self.name!r}: pose: {error}") from None
        if self.index.floating:
            q = self.index.root_qpos
            self._sim.qpos[ids, q : q + 3], self._sim.qpos[ids, q + 3 : q + 7] = position, quat
        elif self.index.root_mocap >= 0:
            self._sim.batch.bind("mocap_pos")[ids, self.index.root_mocap] = position
            self._sim.batch.bind("mocap_quat")[ids, self.index.root_mocap] = quat
        else:
            self._sim.expand("body_pos")[ids, self.index.root] = position
            self._sim.expand("body_quat")[ids, self.index.root] = quat
        self._sim.written(ids)

    def write_root_velocity_to_sim(self, velocity: ArrayLike, env_ids: EnvIds = None) -> None:
        """Set the root's linear and angular velocity (N, 6), in the world's axes."""
        if not self.index.floating:
            raise StateError(f"entity {self.name!r}: its base is fixed, so it has no root velocity to set")
        ids = self._sim.ids(env_ids)
        values = self._rows(velocity, ids, 6, "velocity")
        q, v = self.index.root_qpos, self.index.root_qvel
        self._sim.qvel[ids, v : v + 3] = values[:, :3]
        # MuJoCo keeps a free joint's angular velocity in the body's axes.
        self._sim.qvel[ids, v + 3 : v + 6] = rotate_inverse(self._sim.qpos[ids, q + 3 : q + 7], values[:, 3:])
        self._sim.written(ids)

    def write_root_state_to_sim(self, state: ArrayLike, env_ids: EnvIds = None) -> None:
        """Place the root and set its velocity: (N, 13), pose and then velocity."""
        values = self._rows(state, self._sim.ids(env_ids), 13, "state")
        self.write_root_pose_to_sim(values[:, :7], env_ids)
        self.write_root_velocity_to_sim(values[:, 7:], env_ids)

    def write_joint_position_to_sim(
        self, position: ArrayLike, joint_ids: ArrayLike | None = None, env_ids: EnvIds = None
    ) -> None:
        """Set joint positions (N, columns) of all joints or of `joint_ids`."""
        self._write_joints(self._sim.qpos, position, joint_ids, env_ids, velocity=False)

    def write_joint_velocity_to_sim(
        self, velocity: ArrayLike, joint_ids: ArrayLike | None = None, env_ids: EnvIds = None
    ) -> None:
        """Set joint velocities (N, columns) of all joints or of `joint_ids`."""
        self._write_joints(self._sim.qvel, velocity, joint_ids, env_ids, velocity=True)

    def write_joint_state_to_sim(
        self,
        position: ArrayLike,
        velocity: ArrayLike,
        joint_ids: ArrayLike | None = None,
        env_ids: EnvIds = None,
    ) -> None:
        """Set joint positions and velocities."""
        self.write_joint_position_to_sim(position, joint_ids, env_ids)
        self.write_joint_velocity_to_sim(velocity, joint_ids, env_ids)

    def _write_joints(
        self, target: Floats, values: ArrayLike, joint_ids: ArrayLike | None, env_ids: EnvIds, velocity: bool
    ) -> None:
        ids = self._sim.ids(env_ids)
        addresses = self.index.joint_qvel if velocity else self.index.joint_qpos
        slices = self.index.joint_v_slices if velocity else self.index.joint_q_slices
        if joint_ids is not None:
            chosen = np.atleast_1d(np.asarray(joint_ids, dtype=np.int64))
            if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(slices)):
                raise StateError(
                    f"entity {self.name!r}: joint_ids: expected indices of {len(slices)} joints, got {chosen.tolist()}"
                )
            addresses = np.concatenate([addresses[slices[joint]] for joint in chosen])
        rows = np.arange(self._sim.num_envs)[ids]
        what = "joint velocities" if velocity else "joint positions"
        target[rows[:, None], addresses[None, :]] = self._rows(values, ids, addresses.size, what)
        self._sim.written(ids)

    def write_ctrl_to_sim(self, ctrl: ArrayLike, env_ids: EnvIds = None) -> None:
        """Set the controls of the entity's actuators (N, actuators)."""
        ids = self._sim.ids(env_ids)
        rows = np.arange(self._sim.num_envs)[ids]
        values = self._rows(ctrl, ids, self.index.actuators.size, "controls")
        self._sim.ctrl[rows[:, None], self.index.actuators[None, :]] = values

    def _rows(self, values: ArrayLike, ids: slice | NDArray[np.int64], columns: int, what: str) -> Floats:
        """Values as (environments, columns); one row serves all."""
        array = np.asarray(values, dtype=np.float64)
        count = len(np.arange(self._sim.num_envs)[ids])
        try:
            return np.broadcast_to(array, (count, columns))
        except ValueError:
            raise StateError(
                f"entity {self.name!r}: {what}: expected shape ({count}, {columns}), got {array.shape}"
            ) from None

    # The names mjlab uses.
    write_root_link_pose_to_sim = write_root_pose_to_sim
    write_root_link_velocity_to_sim = write_root_velocity_to_sim
    write_mocap_pose_to_sim = write_root_pose_to_sim
