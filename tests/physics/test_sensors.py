"""Sensors: what they say against what is known about the scene."""

import numpy as np
import pytest

from diorama.physics import (
    BuiltinSensorCfg,
    ContactMatch,
    ContactSensorCfg,
    EntityCfg,
    GridPatternCfg,
    InitialStateCfg,
    ObjRef,
    PinholeCameraPatternCfg,
    RayCastSensorCfg,
    RingPatternCfg,
    Scene,
    SceneCfg,
    TerrainEntityCfg,
)
from diorama.physics.sensor_config import SensorCfg
from diorama.physics.sensors import BuiltinSensor, ContactSensor, RayCastSensor
from diorama.tests.physics.models import cube, walker

GRAVITY = 9.81
CUBE_MASS = 0.2
TRUNK = ObjRef(type="body", name="trunk", entity="robot")


def make(*sensors: SensorCfg, num_envs: int = 3) -> Scene:
    cfg = SceneCfg(
        num_envs=num_envs,
        terrain=TerrainEntityCfg(),
        entities={
            "robot": EntityCfg(spec_fn=walker),
            "cube": EntityCfg(spec_fn=cube, init_state=InitialStateCfg(pos=(2, 0, 0.05))),
        },
        sensors=sensors,
    )
    return Scene(cfg).initialize()


def test_a_configured_sensor_reads_what_mujoco_computes() -> None:
    scene = make(BuiltinSensorCfg(name="where", sensor_type="framepos", obj=TRUNK))
    sensor = scene["robot/where"]
    assert isinstance(sensor, BuiltinSensor)
    assert sensor.type == "framepos"
    np.testing.assert_allclose(sensor.data, np.tile([0, 0, 0.34], (3, 1)), atol=1e-12)
    scene.entities["robot"].write_root_pose_to_sim([0, 0, 1.5, 1, 0, 0, 0], [1])
    assert sensor.data[1, 2] == pytest.approx(1.5)


def test_a_resting_cube_is_carried_by_the_ground() -> None:
    match = ContactMatch(mode="body", pattern="cube", entity="cube")
    ground = ContactMatch(mode="geom", pattern="terrain")
    scene = make(
        ContactSensorCfg(
            name="load",
            primary=match,
            secondary=ground,
            fields=("found", "force", "pos"),
            reduce="netforce",
            global_frame=True,
        )
    )
    for _ in range(300):
        scene.step()
    sensor = scene["load"]
    assert isinstance(sensor, ContactSensor)
    data = sensor.data
    assert data.found is not None
    assert data.force is not None
    assert data.pos is not None
    assert data.normal is None
    assert data.force.shape == (3, 1, 3)
    assert np.all(data.found > 0)
    # From the cube onto the ground: its weight, downwards.
    np.testing.assert_allclose(data.force[:, 0], np.tile([0, 0, -CUBE_MASS * GRAVITY], (3, 1)), atol=1e-3)
    np.testing.assert_allclose(data.pos[:, 0, :2], scene.env_origins[:, :2] + [2, 0], atol=1e-3)


def test_contacts_of_several_primaries_and_slots_in_their_order() -> None:
    feet = ContactMatch(mode="geom", pattern=".*", entity="robot", exclude=("trunk",))
    scene = make(ContactSensorCfg(name="feet", primary=feet, num_slots=2))
    sensor = scene["feet"]
    assert isinstance(sensor, ContactSensor)
    assert sensor.primary_names == ["robot/left_foot", "robot/right_foot"]
    assert list(scene.sensors) == ["feet", "robot/trunk_imu", "robot/sensor_1"]
    scene.entities["robot"].write_root_pose_to_sim([0, 0, 3.0, 1, 0, 0, 0], [1])
    for _ in range(20):
        scene.step()
    data = sensor.data
    assert data.found is not None
    assert data.force is not None
    assert data.found.shape == (3, 4)
    assert data.force.shape == (3, 4, 3)
    assert not data.found[1].any()
    assert data.found[[0, 2]][:, [0, 2]].all()
    assert np.all(data.force[0, [0, 2], 0] > 0)


def test_a_grid_of_rays_measures_the_height_above_the_ground() -> None:
    scan = RayCastSensorCfg(name="scan", frame=TRUNK, pattern=GridPatternCfg(size=(1.6, 1.0), resolution=0.2))
    scene = make(scan)
    sensor = scene["scan"]
    assert isinstance(sensor, RayCastSensor)
    assert sensor.width == 9 * 6
    heights = np.array([0.34, 0.8, 2.0])
    poses = scene.entities["robot"].data.default_root_pose.copy()
    poses[:, :3] += scene.env_origins
    poses[:, 2] = heights
    scene.entities["robot"].write_root_pose_to_sim(poses)
    clear = np.abs(sensor.data.hit_pos_w[:, :, 1] - scene.env_origins[:, None, 1]) > 0.2
    np.testing.assert_allclose(sensor.data.distances[clear], np.repeat(heights, clear.sum(1)), atol=1e-9)
    np.testing.assert_allclose(sensor.data.hit_pos_w[clear][:, 2], 0, atol=1e-9)
    np.testing.assert_allclose(
        sensor.data.normals_w[clear], np.tile([0, 0, 1.0], (clear.sum(), 1)), atol=1e-9
    )
    np.testing.assert_allclose(sensor.data.pos_w, poses[:, :3], atol=1e-12)


def test_rays_turn_with_the_frame_as_told_and_miss_beyond_their_reach() -> None:
    pattern = RingPatternCfg(num_rays=4)
    kinds = {
        f"ring_{alignment}": RayCastSensorCfg(
            name=f"ring_{alignment}",
            frame=ObjRef(type="body", name="cube", entity="cube"),
            pattern=pattern,
            ray_alignment=alignment,
            max_distance=5.0,
            geom_groups=(0,),
        )
        for alignment in ("base", "yaw", "world")
    }
    scene = make(*kinds.values(), num_envs=1)
    # The cube a quarter turn to the left: the robot in front of it is then to its right (ray 3).
    half = np.sqrt(0.5)
    scene.entities["cube"].write_root_pose_to_sim([0, 0, 0.05, half, 0, 0, half])
    scene.entities["robot"].write_root_pose_to_sim([2, 0, 0.05, 1, 0, 0, 0])
    found = {}
    for name in kinds:
        sensor = scene[name]
        assert isinstance(sensor, RayCastSensor)
        found[name] = sensor.data.distances[0]
    np.testing.assert_allclose(found["ring_world"], [1.8, -1, -1, -1], atol=1e-9)
    np.testing.assert_allclose(found["ring_yaw"][3], 1.8, atol=1e-9)
    np.testing.assert_allclose(found["ring_base"], found["ring_yaw"], atol=1e-9)


def test_rays_end_at_their_reach() -> None:
    far = RayCastSensorCfg(name="far", frame=TRUNK, max_distance=2.0, pattern=GridPatternCfg(size=(0, 0)))
    scene = make(far, num_envs=2)
    scene.entities["robot"].write_root_pose_to_sim([0, 0, 2.5, 1, 0, 0, 0], [1])
    scene.entities["robot"].write_root_pose_to_sim([0, 0, 1.5, 1, 0, 0, 0], [0])
    sensor = scene["far"]
    np.testing.assert_allclose(sensor.data.distances, [[1.5], [-1.0]], atol=1e-9)
    np.testing.assert_allclose(sensor.data.hit_pos_w[:, 0, 2], [0.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(sensor.data.normals_w[:, 0], np.array([[0, 0, 1], [0, 0, 0.0]]), atol=1e-9)


def test_a_cutoff_reaches_mujoco() -> None:
    scene = make(BuiltinSensorCfg(name="low", sensor_type="framepos", obj=TRUNK, cutoff=0.25))
    np.testing.assert_allclose(scene["robot/low"].data[:, 2], 0.25)


def test_readings_follow_the_state_between_steps() -> None:
    scene = make(RayCastSensorCfg(name="scan", frame=TRUNK, exclude_parent_body=False))
    sensor = scene["scan"]
    assert isinstance(sensor, RayCastSensor)
    first = sensor.data
    assert sensor.data is first
    scene.step()
    assert sensor.data is not first
    np.testing.assert_array_equal(sensor.data.pos_w, scene.entities["robot"].data.root_link_pos_w)


def test_patterns() -> None:
    starts, directions = GridPatternCfg(size=(1.6, 1.0), resolution=0.1).rays()
    assert len(starts) == 187
    np.testing.assert_allclose(starts[:2], [[-0.8, -0.5, 0], [-0.7, -0.5, 0]])
    np.testing.assert_array_equal(directions, np.tile([0, 0, -1.0], (187, 1)))
    _, ring = RingPatternCfg(num_rays=8, elevations=(0.0, 0.5)).rays()
    np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 1)
    np.testing.assert_allclose(ring[8:, 2], np.sin(0.5))
    _, pixels = PinholeCameraPatternCfg(width=4, height=2, fovy_deg=90.0).rays()
    np.testing.assert_allclose(np.linalg.norm(pixels, axis=1), 1)
    assert pixels[0, 0] < 0 < pixels[0, 1], "the first pixel is at the top left"
    np.testing.assert_allclose(pixels[0] / -pixels[0, 2], [-1.5, 0.5, -1])
