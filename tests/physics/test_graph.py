"""A scene inside a world: names, places on the right side, and poses after every step."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diorama.ecs import Sensor, Transform, World, propagate
from diorama.physics import (
    ROUGH_TERRAINS_CFG,
    Body,
    ContactMatch,
    ContactSensorCfg,
    EntityCfg,
    Environment,
    Geom,
    ObjRef,
    RayCastSensorCfg,
    Scene,
    SceneCfg,
    SceneGraph,
    TerrainEntityCfg,
    TerrainGeneratorCfg,
)
from diorama.runtime.clock import Tick
from diorama.runtime.step import step
from diorama.schemas.errors import SceneError, StateError
from diorama.tests.physics.models import arm, cube, gymnasium_model, walker

EXACT = 1e-12  # metres
FLIP = np.diag([1.0, -1.0, -1.0])


def make(num_envs: int = 4) -> Scene:
    frame = ObjRef(type="site", name="imu", entity="robot")
    cfg = SceneCfg(
        num_envs=num_envs,
        terrain=TerrainEntityCfg(),
        entities={
            "robot": EntityCfg(spec_fn=walker),
            "arm": EntityCfg(spec_fn=arm),
            "cube": EntityCfg(spec_fn=cube),
        },
        sensors=(
            RayCastSensorCfg(name="scan", frame=frame),
            ContactSensorCfg(
                name="feet", primary=ContactMatch(mode="geom", pattern=".*_foot", entity="robot")
            ),
        ),
    )
    return Scene(cfg).initialize()


def assert_world_follows(scene: Scene, graph: SceneGraph) -> None:
    """Every body is where the scene says, in north-east-down, with MuJoCo's own axes turned along."""
    world = graph.world
    propagate(world)
    for env in graph.envs:
        for name, entity in scene.entities.items():
            poses = entity.data.body_link_pose_w[env]
            for body, pose in zip(entity.body_names, poses, strict=True):
                found = world.get(world.find(f"env_{env}/{name}/{body}"), Transform)
                np.testing.assert_allclose(found.world_position, FLIP @ pose[:3], atol=EXACT)
                turned = Rotation.from_quat(found.world_orientation).as_matrix()
                expected = FLIP @ Rotation.from_quat(np.roll(pose[3:], -1)).as_matrix()
                np.testing.assert_allclose(turned, expected, atol=EXACT)


def test_bodies_of_all_environments_follow_the_simulation() -> None:
    scene = make()
    graph = SceneGraph(scene, World())
    assert_world_follows(scene, graph)
    for _ in range(3):
        scene.step(5)
        graph.update()
        assert_world_follows(scene, graph)


@pytest.mark.parametrize("envs", [[2], [0, 3], [1, 2]])
def test_a_subset_follows_too(envs: list[int]) -> None:
    scene = make()
    graph = SceneGraph(scene, World(), envs, geoms=False)
    scene.step(7)
    graph.update()
    assert_world_follows(scene, graph)
    assert "env_1/robot" in graph.world.names or 1 not in envs
    assert len(graph.body_entities) == len(envs)


def test_a_world_with_scattered_rows_is_fed_all_the_same() -> None:
    scene, world = make(), World()
    others = [world.spawn(f"other_{index}") for index in range(40)]
    for other in others[::2]:
        world.despawn(other)
    graph = SceneGraph(scene, world)
    scene.step(3)
    graph.update()
    assert_world_follows(scene, graph)
    world.despawn(others[1])
    scene.step(3)
    graph.update()
    assert_world_follows(scene, graph)


def test_names_tree_and_components() -> None:
    scene = make(2)
    world = World()
    SceneGraph(scene, world)
    trunk, leg = world.find("env_1/robot/trunk"), world.find("env_1/robot/left_leg")
    node = world.find("env_1")
    # Flat under the node; the kinematic parent is data.
    assert world.parent(trunk) == world.parent(leg) == node
    assert world.get(trunk, Body) == Body(entity="robot", parent="", mass=3.0)
    assert world.get(leg, Body).parent == "robot/trunk"
    assert world.get(node, Environment) == Environment(index=1)
    foot = world.find("env_1/robot/left_foot#geom")
    assert world.parent(foot) == leg
    assert world.get(foot, Geom).type == "capsule"
    imu = world.find("env_1/robot/trunk_imu#sensor")
    assert world.parent(imu) == trunk
    assert world.get(imu, Sensor) == Sensor(name="robot/trunk_imu", type="gyro", parameters={"width": 3})
    assert world.get(world.find("env_0/scan#sensor"), Sensor).type == "raycast"
    assert world.parent(world.find("env_0/feet#sensor")) == world.find("env_0/robot/left_leg")
    # The ground is there once.
    assert world.get(world.find("terrain#geom"), Geom).type == "plane"
    assert [name for name in world.names if "terrain" in name] == ["terrain", "terrain#geom"]


def test_geoms_and_sensors_are_where_mujoco_has_them() -> None:
    scene, world = make(2), World()
    graph = SceneGraph(scene, world)
    scene.step(20, current=True)
    graph.update()
    propagate(world)
    for name, entity in scene.entities.items():
        for geom, pose in zip(entity.index.geom_names, entity.data.geom_pose_w[1], strict=True):
            found = world.get(world.find(f"env_1/{name}/{geom}#geom"), Transform)
            np.testing.assert_allclose(found.world_position, FLIP @ pose[:3], atol=1e-9)
    imu = world.get(world.find("env_1/robot/trunk_imu#sensor"), Transform)
    np.testing.assert_allclose(
        imu.world_position, FLIP @ scene.entities["robot"].data.site_pose_w[1, 0, :3], atol=1e-9
    )


def test_the_model_is_described_once_for_all_environments() -> None:
    scene, world = make(50), World()
    SceneGraph(scene, world, geoms=False)
    description = world.resource("physics")
    bodies = [body["name"] for body in description["bodies"]]
    assert bodies == [scene.model.body(index).name for index in range(2, scene.model.nbody)]
    assert description["bodies"][1]["parent"] == 0
    assert len(description["geoms"]) == scene.model.ngeom
    assert description["environments"] == list(range(50))
    assert not any("#" in name for name in world.names if "terrain" not in name)
    assert len(world) == 2 + 50 * (1 + len(bodies) + 3)


def test_meshes_are_placed_as_in_their_files_not_as_mujoco_centres_them() -> None:
    spec = mujoco.MjSpec()
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    spec.add_mesh(name="corner", uservert=corner.ravel(), scale=[2, 2, 2])
    body = spec.worldbody.add_body(name="it", pos=[0, 0, 1])
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="corner", pos=[0.5, 0, 0], quat=[0, 1, 0, 0])
    scene = Scene(SceneCfg(entities={"x": EntityCfg(spec_fn=lambda: spec)})).initialize()
    world = World()
    SceneGraph(scene, world)
    propagate(world)
    geom = world.get(world.find("env_0/x/geom_0#geom"), Transform)
    np.testing.assert_allclose(geom.position, [0.5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(np.abs(geom.orientation), [1, 0, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(geom.scale, [2, 2, 2])


def test_on_generated_terrain_environments_stand_on_it() -> None:
    generator = TerrainGeneratorCfg(
        size=(4.0, 4.0), num_rows=2, curriculum=True, sub_terrains=ROUGH_TERRAINS_CFG.sub_terrains
    )
    terrain = TerrainEntityCfg(terrain_type="generator", terrain_generator=generator)
    entities = {"robot": EntityCfg(spec_fn=walker), "arm": EntityCfg(spec_fn=arm)}
    scene = Scene(SceneCfg(num_envs=6, terrain=terrain, entities=entities)).initialize()
    graph = SceneGraph(scene, World())
    assert_world_follows(scene, graph)
    ground = [name for name in graph.world.names if name.startswith("terrain_")]
    assert len(ground) == scene.model.ngeom - 6


def test_a_diverged_environment_is_marked_on_its_node() -> None:
    scene, world = make(), World()
    graph = SceneGraph(scene, world)
    scene.simulation.qpos[2, 0] = np.nan
    scene.step()
    graph.update()
    state = world.get(world.find("env_2"), Environment)
    assert (state.index, state.resets) == (2, 1)
    assert state.last_divergence == "environment 2 at step 1: position is not finite or huge; it was reset"
    assert world.get(world.find("env_1"), Environment).resets == 0
    assert_world_follows(scene, graph)


def test_as_a_system_it_keeps_pace_with_the_clock() -> None:
    scene, world = make(2), World()  # 4 ms substeps
    graph = SceneGraph(scene, world)
    for index in range(7):
        tick = Tick(index=index, time_ns=(index + 1) * 10_000_000, step_ns=10_000_000)
        step(world, tick, [graph.advance])
    assert scene.time[0] == pytest.approx(0.068)
    assert_world_follows(scene, graph)
    with pytest.raises(StateError, match="another world"):
        graph.advance(World(), tick)


def test_environments_that_do_not_exist_cannot_be_shown() -> None:
    scene = make(2)
    with pytest.raises(SceneError, match=r"envs: expected some of 0 to 1, got \[2\]"):
        SceneGraph(scene, World(), [2])
    with pytest.raises(SceneError, match="need numbers"):
        SceneGraph(scene, World(), numbered=False)


def test_several_scenes_hang_in_one_world_where_one_wants_them() -> None:
    world = World()
    site = world.spawn("site", position=(100, 20, -5))
    scenes = [make(2), make(3)]
    SceneGraph(scenes[0], world, under=site)
    with pytest.raises(StateError, match="the world has a terrain already; give this scene a prefix"):
        SceneGraph(scenes[1], world)
    size = len(world)
    SceneGraph(scenes[1], world, prefix="lab/")
    assert len(world) > size
    propagate(world)
    robot = world.get(world.find("env_1/robot"), Transform).world_position
    at = scenes[0].entities["robot"].data.root_link_pos_w[1]
    np.testing.assert_allclose(robot, np.array([100, 20, -5]) + FLIP @ at, atol=EXACT)
    assert {"lab/terrain", "lab/env_2/robot/trunk"} <= set(world.names)
    assert world.resource("lab/physics")["environments"] == [0, 1, 2]


def test_a_third_party_robot_in_many_environments() -> None:
    scene = Scene(SceneCfg(num_envs=9, entities={"ant": EntityCfg(file=gymnasium_model("ant"))})).initialize()
    graph = SceneGraph(scene, World())
    scene.step(10)
    graph.update()
    assert_world_follows(scene, graph)
