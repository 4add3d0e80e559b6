"""A scene at run time: names, shapes, reading what was written, resets, many environments alike."""

from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diorama.physics import (
    ArticulationCfg,
    EntityCfg,
    InitialStateCfg,
    Scene,
    SceneCfg,
    SceneEntity,
    TerrainEntityCfg,
)
from diorama.physics.sensors import BuiltinSensor
from diorama.physics.terrain import Terrain
from diorama.schemas.errors import SceneError, StateError
from diorama.tests.physics.models import add_gantry, arm, cube, gymnasium_model, hand, mujoco_testdata, walker

EXACT = 1e-12  # metres, radians


def make(num_envs: int = 5, **more: Any) -> Scene:
    entities = {
        "robot": EntityCfg(spec_fn=walker),
        "arm": EntityCfg(spec_fn=arm, init_state=InitialStateCfg(pos=(0, 1, 0.1))),
        "cube": EntityCfg(spec_fn=cube, init_state=InitialStateCfg(pos=(1, 0, 0.05))),
    }
    cfg = SceneCfg(num_envs=num_envs, terrain=TerrainEntityCfg(), entities=entities, **more)
    return Scene(cfg).initialize(nthread=2)


def test_everything_is_found_by_name() -> None:
    scene = make(spec_fn=add_gantry)
    assert isinstance(scene["robot"], SceneEntity)
    assert isinstance(scene["terrain"], Terrain)
    assert isinstance(scene["robot/trunk_imu"], BuiltinSensor)
    # Unnamed in the file, and added by spec_fn after everything else: both are there.
    assert list(scene.sensors) == ["robot/trunk_imu", "robot/sensor_1", "rope_length"]
    with pytest.raises(
        StateError, match=r"no entity or sensor 'robt'; did you mean 'robot'\?; entities: robot, arm, cube"
    ):
        scene["robt"]


def test_before_initialize_the_scene_says_what_to_do() -> None:
    scene = Scene(SceneCfg(entities={"robot": EntityCfg(spec_fn=walker)}))
    assert scene.env_origins.shape == (1, 3)
    with pytest.raises(StateError, match=r"call scene.initialize\(\) first"):
        scene["robot"]
    with pytest.raises(StateError, match=r"call scene.initialize\(\) first"):
        scene.step()


def test_shapes() -> None:
    scene = make()
    scene.step()
    robot, manipulator = scene.entities["robot"].data, scene.entities["arm"].data
    assert robot.joint_pos.shape == robot.joint_vel.shape == robot.joint_acc.shape == (5, 2)
    assert robot.root_link_pose_w.shape == robot.default_root_pose.shape == (5, 7)
    assert robot.root_link_vel_w.shape == (5, 6)
    assert robot.body_link_pose_w.shape == (5, 3, 7)
    assert robot.body_link_vel_w.shape == (5, 3, 6)
    assert robot.geom_pose_w.shape == (5, 3, 7)
    assert robot.site_pose_w.shape == (5, 3, 7)
    assert robot.actuator_force.shape == (5, 2)
    assert robot.default_root_state.shape == (5, 13)
    # A ball joint is four columns and three speeds; the slices say which.
    assert manipulator.joint_pos.shape == (5, 5)
    assert manipulator.joint_vel.shape == (5, 4)
    assert scene.entities["arm"].num_joints == 2
    assert scene.entities["arm"].index.joint_q_slices == [slice(0, 4), slice(4, 5)]
    assert scene.entities["arm"].is_fixed_base
    assert scene["robot/trunk_imu"].data.shape == (5, 3)


def test_reading_never_shares_a_writable_array() -> None:
    scene = make()
    for name in ("joint_pos", "joint_vel", "default_joint_pos", "default_root_pose"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(scene.entities["robot"].data, name)[0, 0] = 1.0


def test_poses_are_those_of_mujoco_at_the_origins() -> None:
    scene = make()
    data = mujoco.MjData(scene.model)
    mujoco.mj_resetDataKeyframe(scene.model, data, 0)
    mujoco.mj_forward(scene.model, data)
    for name, entity in scene.entities.items():
        for index, body in enumerate(entity.body_names):
            expected = data.body(f"{name}/{body}")
            poses = entity.data.body_link_pose_w[:, index]
            np.testing.assert_array_equal(poses[:, :3], expected.xpos + scene.env_origins)
            np.testing.assert_array_equal(poses[:, 3:], np.tile(expected.xquat, (5, 1)))


def test_a_written_pose_is_read_back_at_once_everywhere() -> None:
    scene = make()
    robot = scene.entities["robot"]
    turn = Rotation.from_euler("z", 90, degrees=True)
    quat = np.roll(turn.as_quat(), 1)
    ids = np.array([3, 1])
    pose = robot.data.default_root_pose[ids].copy()
    pose[:, :3] += scene.env_origins[ids] + [0.5, 0.25, 1.0]
    pose[:, 3:] = 2 * quat  # any length will do
    untouched = robot.data.body_link_pose_w[[0, 2, 4]].copy()
    robot.write_root_pose_to_sim(pose, ids)
    expected = np.concatenate([pose[:, :3], np.tile(quat, (2, 1))], axis=1)
    np.testing.assert_allclose(robot.data.root_link_pose_w[ids], expected, atol=EXACT)
    np.testing.assert_allclose(robot.data.body_link_pose_w[ids, 0], expected, atol=EXACT)
    leg = expected[:, :3] + turn.apply([0, 0.12, 0])
    np.testing.assert_allclose(robot.data.body_link_pose_w[ids, 1, :3], leg, atol=EXACT)
    np.testing.assert_array_equal(robot.data.body_link_pose_w[[0, 2, 4]], untouched)
    np.testing.assert_allclose(robot.data.heading_w[ids], np.pi / 2, atol=EXACT)
    assert scene.pose_time[3] == scene.time[3]


def test_root_velocity_is_in_world_axes() -> None:
    scene = make(2)
    robot = scene.entities["robot"]
    turn = Rotation.from_euler("xyz", [20, -40, 110], degrees=True)
    pose = [0, 0, 2.0, *np.roll(turn.as_quat(), 1)]
    velocity = np.array([1.0, -2.0, 0.5, 0.3, -0.7, 1.1])
    robot.write_root_state_to_sim([*pose, *velocity])
    np.testing.assert_allclose(robot.data.root_link_vel_w[0], velocity, atol=EXACT)
    np.testing.assert_allclose(robot.data.body_link_vel_w[0, 0], velocity, atol=1e-9)
    np.testing.assert_allclose(robot.data.root_link_lin_vel_b[0], turn.inv().apply(velocity[:3]), atol=EXACT)
    np.testing.assert_allclose(robot.data.root_link_ang_vel_b[0], turn.inv().apply(velocity[3:]), atol=EXACT)
    np.testing.assert_allclose(robot.data.projected_gravity_b[0], turn.inv().apply([0, 0, -1]), atol=EXACT)


def test_body_velocities_agree_with_mujocos_object_velocity() -> None:
    scene = make(1)
    for _ in range(20):
        scene.step(current=True)
    data = mujoco.MjData(scene.model)
    mujoco.mj_setState(
        scene.model, data, scene.simulation.batch.state[0], mujoco.mjtState.mjSTATE_INTEGRATION
    )
    mujoco.mj_forward(scene.model, data)
    scene.simulation.written(slice(None))
    for entity in scene.entities.values():
        for column, body in enumerate(entity.index.bodies):
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(scene.model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
            expected = np.concatenate([twist[3:], twist[:3]])
            np.testing.assert_allclose(entity.data.body_link_vel_w[0, column], expected, atol=1e-9)


def test_joint_writes_reach_the_chosen_joints_and_environments() -> None:
    scene = make()
    robot, manipulator = scene.entities["robot"], scene.entities["arm"]
    ids, names = robot.find_joints("right_.*")
    assert names == ["right_hip"]
    robot.write_joint_state_to_sim([[0.4], [0.5]], [[1.0], [2.0]], joint_ids=ids, env_ids=[0, 4])
    np.testing.assert_array_equal(robot.data.joint_pos[[0, 4], 1], [0.4, 0.5])
    np.testing.assert_array_equal(robot.data.joint_vel[[0, 4], 1], [1.0, 2.0])
    np.testing.assert_array_equal(robot.data.joint_pos[1:4], robot.data.default_joint_pos[1:4])
    manipulator.write_joint_position_to_sim([1.0, 0, 0, 0, 0.25], env_ids=np.arange(5) % 2 == 0)
    np.testing.assert_array_equal(manipulator.data.joint_pos[:, 4], [0.25, 0, 0.25, 0, 0.25])
    assert manipulator.find_joints("shoulder") == ([0], ["shoulder"])


def test_a_fixed_base_can_be_moved_in_single_environments() -> None:
    scene = make()
    manipulator = scene.entities["arm"]
    half = np.sqrt(0.5)
    target = np.array([0.2, 0.9, 0.4, half, 0, 0, half])
    target[:3] += scene.env_origins[2]
    manipulator.write_root_pose_to_sim(target, 2)
    np.testing.assert_allclose(manipulator.data.root_link_pose_w[2], target, atol=EXACT)
    np.testing.assert_allclose(
        manipulator.data.body_link_pose_w[2, 1, :3], np.add(target[:3], [0, 0, 0.2]), atol=EXACT
    )
    np.testing.assert_allclose(
        manipulator.data.root_link_pos_w[0], scene.env_origins[0] + [0, 1, 0.1], atol=EXACT
    )
    scene.reset([2])
    np.testing.assert_allclose(
        manipulator.data.root_link_pose_w[2, 2:], [0.1, 1, 0, 0, 0], atol=EXACT, err_msg="back at its start"
    )
    np.testing.assert_allclose(manipulator.data.root_link_vel_w, 0, atol=EXACT)
    with pytest.raises(StateError, match="its base is fixed"):
        manipulator.write_root_velocity_to_sim(np.zeros(6))


def test_controls_reach_their_actuators() -> None:
    scene = make()
    scene.entities["robot"].write_root_pose_to_sim([0, 0, 3, 1, 0, 0, 0])  # feet off the ground
    scene.entities["robot"].write_ctrl_to_sim([0.3, -0.3], env_ids=[2])
    for _ in range(100):
        scene.step()
    hips = scene.entities["robot"].data.joint_pos
    assert hips[2, 0] - hips[0, 0] > 0.1
    np.testing.assert_array_equal(hips[0], hips[1])


def test_reset_returns_chosen_environments_and_leaves_others() -> None:
    scene = make()
    start = scene.simulation.qpos.copy()
    for _ in range(30):
        scene.step()
    moved = scene.simulation.qpos.copy()
    assert not np.array_equal(moved, start)
    scene.reset([4, 0])
    np.testing.assert_array_equal(scene.simulation.qpos[[0, 4]], start[[0, 4]])
    np.testing.assert_array_equal(scene.simulation.qpos[1:4], moved[1:4])
    np.testing.assert_array_equal(scene.time[[0, 4]], 0)
    np.testing.assert_array_equal(scene.reset_counts, [1, 0, 0, 0, 1])
    np.testing.assert_allclose(
        scene.entities["robot"].data.body_link_pose_w[4, 0, :3],
        scene.env_origins[4] + scene.entities["robot"].data.default_root_pose[4, :3],
        atol=EXACT,
    )


def test_environments_that_start_alike_stay_alike_wherever_they_stand() -> None:
    scene = make()
    for _ in range(50):
        scene.step()
    local = scene.entities["robot"].data.body_link_pose_w.copy()
    local[..., :3] -= scene.env_origins[:, None]
    np.testing.assert_allclose(local, np.broadcast_to(local[:1], local.shape), atol=EXACT)


def test_the_gantry_holds_the_robot_in_every_environment() -> None:
    scene = make(4, spec_fn=add_gantry)
    for _ in range(500):
        assert not scene.step().size
    hooks = scene.entities["robot"].data.site_pose_w[:, 1:, :3]
    rope = np.linalg.norm(hooks - (scene.env_origins[:, None] + [0, 0, 2]), axis=-1)
    assert rope.max() < 1.1  # a soft limit at 1 m
    np.testing.assert_allclose(scene["rope_length"].data[:, 0], rope[:, 0], atol=1e-2)


def test_several_free_bodies_in_one_entity() -> None:
    cfg = SceneCfg(num_envs=2, entities={"it": EntityCfg(file=mujoco_testdata() / "model.xml")})
    scene = Scene(cfg).initialize()
    it = scene.entities["it"]
    assert it.index.floating
    assert it.data.joint_pos.shape == (2, 49 - 7)
    scene.step()
    assert np.isfinite(it.data.body_link_pose_w).all()


@pytest.mark.parametrize("name", ["ant", "hopper", "pusher"])
def test_slides_and_hinges_on_the_root_are_joints_too(name: str) -> None:
    scene = Scene(SceneCfg(num_envs=3, entities={"it": EntityCfg(file=gymnasium_model(name))})).initialize()
    floating = 7 if name == "ant" else 0
    assert scene.entities["it"].data.joint_pos.shape == (3, scene.model.nq - floating)


@pytest.mark.parametrize("ids", [[5], [-1], [0.5], [[0], [1]], [True]])
def test_environments_that_do_not_exist_are_refused(ids: list[Any]) -> None:
    with pytest.raises(StateError, match="env_ids: expected"):
        make().reset(ids)


def test_wrong_shapes_are_refused_with_the_right_one() -> None:
    scene = make()
    with pytest.raises(StateError, match=r"entity 'robot': pose: expected shape \(2, 7\), got \(2, 6\)"):
        scene.entities["robot"].write_root_pose_to_sim(np.zeros((2, 6)), [0, 1])
    with pytest.raises(
        StateError, match="entity 'robot': pose: expected quaternions that are finite and not zero"
    ):
        scene.entities["robot"].write_root_pose_to_sim(np.zeros(7))
    with pytest.raises(StateError, match="entity 'robot': joint_ids: expected indices of 2 joints, got"):
        scene.entities["robot"].write_joint_position_to_sim(np.zeros(1), [99])
    with pytest.raises(StateError, match="nstep: expected at least one substep, got 0"):
        scene.step(0)


def test_the_initial_velocity_is_in_world_axes() -> None:
    turn = Rotation.from_euler("xyz", [10, 50, -30], degrees=True)
    state = InitialStateCfg(
        pos=(0, 0, 3), rot=tuple(np.roll(turn.as_quat(), 1)), lin_vel=(1, 2, 3), ang_vel=(0.4, 0.5, 0.6)
    )
    scene = Scene(SceneCfg(entities={"it": EntityCfg(spec_fn=cube, init_state=state)})).initialize()
    data = scene.entities["it"].data
    np.testing.assert_allclose(data.root_link_vel_w[0], [1, 2, 3, 0.4, 0.5, 0.6], atol=EXACT)
    np.testing.assert_allclose(data.default_root_state[0, 7:], data.root_link_vel_w[0], atol=EXACT)


def test_soft_limits_shrink_around_the_middle() -> None:
    cfg = EntityCfg(spec_fn=walker, articulation=ArticulationCfg(soft_joint_pos_limit_factor=0.5))
    scene = Scene(SceneCfg(entities={"it": cfg})).initialize()
    np.testing.assert_allclose(scene.entities["it"].data.joint_pos_limits, [[-1.2, 1.2]] * 2)
    np.testing.assert_allclose(scene.entities["it"].data.soft_joint_pos_limits, [[-0.6, 0.6]] * 2)


def test_a_mocap_body_goes_where_it_is_put_and_back() -> None:
    scene = Scene(SceneCfg(num_envs=3, entities={"it": EntityCfg(spec_fn=hand)})).initialize()
    it = scene.entities["it"]
    target = np.array([0.5, 0.5, 1, 0, 0, 1, 0])
    it.write_mocap_pose_to_sim(target, slice(1, 3))
    np.testing.assert_allclose(it.data.root_link_pose_w[1:], np.tile(target, (2, 1)), atol=EXACT)
    np.testing.assert_allclose(it.data.root_link_pos_w[0], scene.env_origins[0], atol=EXACT)
    scene.reset([])
    np.testing.assert_allclose(it.data.root_link_pose_w[2], target, atol=EXACT)
    scene.reset()
    np.testing.assert_allclose(it.data.root_link_pos_w, scene.env_origins, atol=EXACT)


def test_elements_are_found_by_expression() -> None:
    robot = make(1).entities["robot"]
    assert robot.find_bodies(["left_.*", "trunk"]) == ([0, 1], ["trunk", "left_leg"])
    assert robot.find_geoms(".*_foot")[1] == ["left_foot", "right_foot"]
    assert robot.find_sites("imu") == ([0], ["imu"])
    assert robot.find_actuators(".*") == ([0, 1], robot.actuator_names)
    with pytest.raises(SceneError, match="entity 'robot': nothing matches 'toe'"):
        robot.find_geoms("toe")
