"""The demo scene: what is there, and how it moves."""

import numpy as np
import pytest

from diorama.cli.main import main
from diorama.ecs import Effector, Sensor, Velocity
from diorama.runtime.clock import Tick
from diorama.runtime.demo import ORIGIN, Demo, demo
from diorama.runtime.demo_motion import closed_path
from diorama.runtime.step import step

STEP_NS = 20_000_000
SECOND = 50  # ticks
FASTEST = 75.0  # m/s; what calms down at its pad is faster elsewhere


def run(scene: Demo, ticks: range) -> None:
    for index in ticks:
        step(scene.world, Tick(index, index * STEP_NS, STEP_NS), scene.systems)


def test_the_site_has_aircraft_cars_sensors_and_hundreds_of_props() -> None:
    world = demo().world
    kinds = [world.asset(entity).removeprefix("demo/") for entity in world.entities.tolist()]
    assert world.origin == ORIGIN
    assert kinds.count("evtol") == 6
    assert kinds.count("helicopter") == 3
    assert kinds.count("car") + kinds.count("truck") == 24
    assert len(world.query(Effector)) == 6 * 6 + 3 * 2
    assert sorted(sensor.type for _, sensor in world.query(Sensor)) == ["lidar"] + ["rgb_camera"] * 4
    assert sum(kinds.count(kind) for kind in ("building", "tree", "container", "pole", "hangar")) > 300


def test_movers_move_at_the_velocity_they_claim_and_nothing_goes_underground() -> None:
    scene = demo()
    world = scene.world
    moving = world.rows([entity for entity, _ in world.query(Velocity)])
    for index in range(0, 40 * SECOND, 13):
        run(scene, range(index, index + 1))
        position, velocity = world.poses.position[moving].copy(), world.velocities.linear[moving].copy()
        assert (position[:, 2] <= 0.01).all()
        assert (np.linalg.norm(velocity, axis=1) < FASTEST).all()
        run(scene, range(index + 1, index + 2))
        assert world.poses.position[moving] == pytest.approx(position + velocity * STEP_NS * 1e-9, abs=0.3)


def test_rotors_turn_and_stay_where_they_are_mounted() -> None:
    scene = demo()
    world = scene.world
    row = world.row(world.find("evtol_3/rotor_2"))
    mounted, turned = world.transforms.position[row].copy(), []
    for index in range(5):
        run(scene, range(index, index + 1))
        turned.append(tuple(world.transforms.orientation[row]))
    assert len(set(turned)) == 5
    assert (world.transforms.position[row] == mounted).all()


def test_what_a_client_despawned_moves_nobody_who_got_its_row() -> None:
    scene = demo(2000)
    world = scene.world
    taken = ("evtol_0/rotor_1", "evtol_1", "car_0", "drone_0")
    for name in taken:
        world.despawn(world.find(name))
    crates = world.insert([f"crate_{number}" for number in range(len(taken) + 20)], position=(1.0, 2.0, -3.0))
    run(scene, range(SECOND, SECOND + 1))
    rows = world.rows(crates)
    assert (world.transforms.position[rows] == (1.0, 2.0, -3.0)).all()
    assert (world.transforms.orientation[rows] == (0.0, 0.0, 0.0, 1.0)).all()
    whole = demo(2000)
    run(whole, range(SECOND, SECOND + 1))
    for name in (
        "evtol_0",
        "evtol_2",
        "car_1",
        "drone_1",
        "drone_1000",
    ):  # the others go on as if nothing were
        here, there = (each.poses.position[each.row(each.find(name))] for each in (world, whole.world))
        assert here.tolist() == there.tolist()


def test_the_swarm_fills_up_to_the_number_asked_for() -> None:
    scene = demo(2000)
    assert len(scene.world) == 2000
    row = scene.world.row(scene.world.find("drone_7"))
    run(scene, range(1))
    before = scene.world.poses.position[row].copy()
    run(scene, range(SECOND, SECOND + 1))
    assert 5.0 < np.linalg.norm(scene.world.poses.position[row] - before) < 30.0


def test_the_lidar_reports_at_ten_hertz() -> None:
    scene = demo()
    heard = []
    for index in range(SECOND):
        tick = Tick(index, index * STEP_NS, STEP_NS)
        step(scene.world, tick, scene.systems)
        heard += [topic for topic, _ in scene.reporters[0](scene.world, tick)]
    assert len(heard) == 2 * 10
    assert set(heard) == set(scene.perception.topics)


def test_a_closed_path_meets_its_corners_in_equal_steps() -> None:
    corners = np.array([(0.0, 0.0, 0.0), (100.0, 0.0, -10.0), (100.0, 80.0, -20.0), (0.0, 80.0, -10.0)])
    path = closed_path(corners)
    steps = np.linalg.norm(np.diff(path, axis=0, append=path[:1]), axis=1)
    assert steps.max() / steps.min() < 1.01
    for corner in corners:
        assert np.linalg.norm(path - corner, axis=1).min() < steps.max()


def test_the_command_runs_and_says_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--headless", "--ticks", "3", "--endpoint", "tcp://127.0.0.1:*"]) == 0
    told = capsys.readouterr().out
    assert "entities near Houston" in told
    for part in ("scene/local/", "clock/", "detection/objects/", "50 Hz", "Ctrl-C"):
        assert part in told
