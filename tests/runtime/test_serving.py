"""A simulation that ticks in a thread of its own, commanded by clients and followed by renderers."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from diorama.ecs import Transform, Velocity, World, difference, propagate
from diorama.formats.airsim.segmentation import hashed_id
from diorama.runtime.airsim_topics import airsim_reports
from diorama.runtime.answer import ANY_PORT, answer
from diorama.runtime.clock import Clock, clock_from_settings
from diorama.runtime.load import load
from diorama.runtime.motion import MOTION
from diorama.runtime.simulation import Simulation
from diorama.transport.airsim_client import AirSimClient
from diorama.transport.methods import RefusedError, RequestError
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
PATIENCE_S = 30.0
IDENTITY = {
    "translation": {"x": 1.0, "y": 2.0, "z": -3.0},
    "rotation": {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0},
}


def open_scene(path: Path) -> tuple[World, Clock]:
    world = load(path)
    return world, clock_from_settings(world.resource("clock"))


@contextmanager
def running(path: Path) -> Iterator[tuple[Simulation, AirSimClient]]:
    """A scene that runs, and a client of it. The simulation belongs to its thread until the block ends."""
    current = [path]

    def reload(wanted: Path | None) -> None:
        world, clock = open_scene(wanted or current[0])
        current[0] = wanted or current[0]
        simulation.replace(world, MOTION, clock=clock)

    world, clock = open_scene(path)
    with Publisher(ANY_PORT) as publisher:
        reporters = [lambda world, tick: airsim_reports(world, tick, publisher.listens)]
        simulation = Simulation(world, publisher, clock=clock, systems=MOTION, reporters=reporters)
        failures: list[BaseException] = []

        def run() -> None:
            try:
                simulation.run()
            except BaseException as error:
                failures.append(error)

        with answer(simulation, ANY_PORT, reload=reload, scenes=path.parent) as service:
            thread = Thread(target=run, daemon=True)
            thread.start()
            try:
                with AirSimClient(service.endpoint, publisher.endpoint, timeout_s=PATIENCE_S) as client:
                    yield simulation, client
            finally:
                simulation.stop()
                thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert not failures, failures


def test_the_clock_is_commanded_as_project_airsims_is() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world):  # 6 ms steps, paused on start
        assert world.get_sim_clock_type() == "steppable"
        assert world.is_paused()
        assert world.get_sim_time() == 0
        assert world.continue_for_single_step() == 6_000_000
        assert world.continue_for_n_steps(3) == 24_000_000
        assert world.continue_for_sim_time(10_000_000) == 36_000_000  # never a part of a step
        assert world.continue_until_sim_time(60_000_000) == 60_000_000
        assert world.continue_until_sim_time(1) == 60_000_000
        world.resume()
        assert not world.is_paused()
        world.pause()
        assert world.is_paused()
        stopped = world.get_sim_time()
        assert stopped % 6_000_000 == 0
        assert world.get_sim_time() == stopped


def test_a_real_time_clock_refuses() -> None:
    with running(FOLDER / "real_time.jsonc") as (_, world):
        assert world.get_sim_clock_type() == "real-time"
        with pytest.raises(RefusedError, match="a real-time clock cannot be paused or stepped"):
            world.pause()
        with pytest.raises(RefusedError, match="a real-time clock cannot be paused or stepped"):
            world.continue_for_n_steps(1)
        assert not world.is_paused()


def test_objects_are_listed_moved_made_and_taken_away() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world):
        assert world.list_actors() == ["Heron1", "Heron2"]
        assert world.list_objects("heron./motor_.") == [
            f"Heron{n}/Motor_{side}" for n in (1, 2) for side in ("L", "R")
        ]
        assert world.get_object_pose("Heron2")["translation"] == {"x": -3.0, "y": 4.0, "z": -5.0}
        assert world.set_object_pose("Heron1/Body", IDENTITY)  # in the world, wherever its parent is
        assert world.get_object_pose("Heron1/Body")["translation"] == pytest.approx(IDENTITY["translation"])
        assert world.spawn_object("Crate", "/Props/Crate", IDENTITY, [1.0, 2.0, 3.0]) == "Crate"
        assert world.spawn_object("Crate", "/Props/Crate", IDENTITY, [1.0, 1.0, 1.0]) == "Crate1"
        assert world.get_object_scale("Crate") == [1.0, 2.0, 3.0]
        assert world.set_object_scale("Crate", [4.0, 4.0, 4.0])
        assert world.get_object_scale("Crate") == [4.0, 4.0, 4.0]
        placed = world.spawn_object_at_geo(
            "Pole", "/Props/Pole", 53.5436, 9.9856, 56.5, [1.0, 0, 0, 0], [1.0, 1, 1]
        )
        assert world.get_object_poses([placed])[0]["translation"]["z"] == pytest.approx(-10.0)
        assert world.destroy_object("Crate")
        assert not world.destroy_object("Crate")
        assert world.destroy_all_spawned_objects()
        assert world.list_objects("crate.*|pole") == []
        assert "Heron1" in world.list_objects()
        with pytest.raises(RefusedError, match="no entity is named 'Heron'"):
            world.get_object_pose("Heron")


def test_names_too_long_to_search_are_not_listed() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world):
        for length in (256, 257):
            world.client.spawn("x" * length)
        assert world.list_objects("x+") == ["x" * 256]


def test_segmentation_ids_and_wind() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world):
        number = hashed_id("heron1")
        assert world.get_segmentation_id_by_name("heron1") == number
        assert world.get_segmentation_id_by_name("nothing") == -1
        assert world.set_segmentation_id_by_name("heron.", 77, is_name_regex=True)
        assert world.get_segmentation_id_map() == {"Heron1": 77, "Heron2": 77}
        assert not world.set_segmentation_id_by_name("Osprey", 3)
        assert world.set_segmentation_id_by_name("Heron2", -5)  # any negative number takes it away
        assert world.get_segmentation_id_map() == {"Heron1": 77}
        assert world.get_wind_velocity() == (0.0, 0.0, 0.0)
        assert world.set_wind_velocity(1.0, 2.0, 3.0)
        assert world.get_wind_velocity() == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(.*)*", ".*.*.*.*", "(", "(a|a)*", "a{1,}b{1,}c{1,}d{1,}"])
def test_patterns_that_could_take_for_ever_are_refused(pattern: str) -> None:
    with running(FOLDER / "drone.jsonc") as (_, world), pytest.raises(RequestError, match="expected a "):
        world.list_objects(pattern)


def test_poses_are_told_on_project_airsims_topic() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world):
        topic = world.topic("Heron2")
        assert topic == "/Sim/HarbourFlight/robots/Heron2/actual_pose"
        assert topic in world.client.topics()
        subscriber = world.subscribe(topic)
        try:
            message = None
            while message is None:
                world.continue_for_single_step()
                message = subscriber.receive(0.05)
            assert message.topic == topic
            assert message.json()["position"] == {"x": -3.0, "y": 4.0, "z": -5.0}
            assert message.json()["time_stamp"] % 6_000_000 == 0
        finally:
            subscriber.close()


def test_what_is_commanded_while_paused_is_shown_at_once() -> None:
    with running(FOLDER / "drone.jsonc") as (_, world), Replica(world._publisher) as replica:
        assert next(iter(replica)).complete
        world.set_object_pose("Heron2", IDENTITY)
        moved = replica.world.find("Heron2")
        while replica.world.get(moved, Transform).position.tolist() != [1.0, 2.0, -3.0]:
            assert replica.poll(PATIENCE_S) is not None
        assert world.is_paused()


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    for path in FOLDER.glob("*.jsonc"):
        shutil.copy(path, tmp_path)
    (tmp_path / "bad.jsonc").write_text('{"id": "Bad",\n "actors": [{"type": "robot", "name": 5}]}')
    (tmp_path / "cut.jsonc").write_text('{"id": "Cut"')
    return tmp_path


def test_a_reload_is_all_or_nothing(scenes: Path) -> None:
    with running(scenes / "drone.jsonc") as (simulation, world):
        world.continue_for_n_steps(2)
        before = simulation.world
        for name, message in (
            ("bad.jsonc", r"bad.jsonc:2:39: actors\[0\].name: expected a name"),
            ("cut.jsonc", "the text ends too early"),
            ("none.jsonc", "no such file"),
            ("../etc/passwd", "expected a file inside the scenes directory"),
        ):
            with pytest.raises(RequestError, match=message):
                world.load_scene(name)
            assert simulation.world is before
            assert world.get_sim_time() == 12_000_000
        assert world.load_scene("environment.jsonc") == "Street"
        assert world.get_sim_clock_type() == "steppable"
        assert not world.is_paused()  # the new scene's clock runs
        assert world.load_scene() == "Street"
        assert world.load_scene("real_time.jsonc") == "Live"
        assert world.get_sim_clock_type() == "real-time"
        assert world.load_scene("environment.jsonc") == "Street"
        world.continue_for_n_steps(5)
        assert world.client.reload("drone.jsonc") == 0  # the first tick of the new scene's clock shows it
        assert world.get_sim_time() == 0


def test_a_hundred_reloads_under_load_leave_every_replica_whole(scenes: Path) -> None:
    with running(scenes / "environment.jsonc") as (simulation, world):
        publisher = simulation.publisher.endpoint
        over = Event()
        seen: list[int] = [0, 0]
        replicas = [Replica(publisher), Replica(publisher, latest=False)]
        failures: list[BaseException] = []

        def follow(number: int) -> None:
            try:
                while not over.is_set():
                    update = replicas[number].poll(0.1)
                    if update is not None:
                        seen[number] += 1
                        # whole at every moment: one scene or another, never a mixture
                        names = set(replicas[number].world.names)
                        assert names in (street, harbour), names ^ street
            except BaseException as error:
                failures.append(error)

        street = set(load(scenes / "environment.jsonc").names)
        harbour = set(load(scenes / "drone.jsonc").names)
        threads = [Thread(target=follow, args=(number,), daemon=True) for number in range(len(replicas))]
        for thread in threads:
            thread.start()
        for number in range(100):
            world.load_scene("drone.jsonc" if number % 2 == 0 else "environment.jsonc")
            if number % 10 == 5:
                with pytest.raises(RequestError):
                    world.load_scene("bad.jsonc")
        world.pause()
        world.set_object_pose("Kite", IDENTITY)
        final = world.client.entities()["total"]
        over.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert not failures, failures
        assert min(seen) > 0
        for replica in replicas:
            while not (replica.whole and "Kite" in replica.world.names and at_rest(replica.world)):
                assert replica.poll(PATIENCE_S) is not None
            assert len(replica.world) == final
    for replica in replicas:
        propagate(replica.world)
        assert difference(simulation.world, replica.world) == ""
        replica.close()


def at_rest(world: World) -> bool:
    return bool((world.get(world.find("Kite"), Transform).position == [1.0, 2.0, -3.0]).all())


def test_velocities_move_a_served_scene() -> None:
    with running(FOLDER / "drone.jsonc") as (simulation, world):
        simulation.world.get(simulation.world.find("Heron2"), Velocity).linear[:] = (10.0, 0.0, 0.0)
        world.continue_for_n_steps(100)
        assert world.get_object_pose("Heron2")["translation"]["x"] == pytest.approx(3.0)
