"""Physics on the wire: replicas follow all environments or a few, and `diorama serve` runs a robot file."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from diorama.ecs import Transform, World, difference, propagate
from diorama.geo import Origin
from diorama.physics import EntityCfg, Scene, SceneCfg, SceneGraph, TerrainEntityCfg
from diorama.runtime.clock import Tick
from diorama.runtime.step import step
from diorama.tests.cli.test_serve import serving
from diorama.tests.patience import PATIENCE_S
from diorama.tests.physics.models import gymnasium_model, walker
from diorama.tests.transport.engines import FREE_PORT
from diorama.tests.transport.following import catch_up
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica


def make(num_envs: int) -> Scene:
    cfg = SceneCfg(
        num_envs=num_envs, terrain=TerrainEntityCfg(), entities={"robot": EntityCfg(spec_fn=walker)}
    )
    return Scene(cfg).initialize()


def test_renderers_follow_all_environments_or_a_few_at_their_own_rate() -> None:
    scene = make(48)
    everything, few = SceneGraph(scene, World(), geoms=False), SceneGraph(scene, World(), range(0, 48, 12))
    with (
        Publisher(FREE_PORT) as all_publisher,
        Publisher(FREE_PORT) as few_publisher,
        Replica(all_publisher.endpoint) as all_replica,
        Replica(few_publisher.endpoint) as few_replica,
    ):
        for index in range(9):
            scene.step()
            tick = Tick(index, index * 4_000_000, 4_000_000)
            everything.update()
            propagate(everything.world)
            all_publisher.publish(everything.world, tick)
            if index % 4 == 0:  # the few at a quarter of the rate
                few.update()
                propagate(few.world)
                few_publisher.publish(few.world, tick)
        catch_up(all_publisher, all_replica)
        catch_up(few_publisher, few_replica)
        assert difference(everything.world, all_replica.world) == ""
        assert difference(few.world, few_replica.world) == ""
        torso = all_replica.world.get(all_replica.world.find("env_47/robot/trunk"), Transform)
        expected = everything.world.get(everything.world.find("env_47/robot/trunk"), Transform)
        np.testing.assert_array_equal(torso.world_position, expected.world_position)


def test_only_what_moves_is_sent_every_step_and_the_structure_once() -> None:
    scene = make(20)
    graph = SceneGraph(scene, World())
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(graph.world)
        catch_up(publisher, replica)
        before = publisher.statistics.bytes_sent
        for index in range(5):
            tick = Tick(index, index * 4_000_000, 4_000_000)
            step(graph.world, tick, [graph.advance])
            publisher.publish(graph.world, tick)
        catch_up(publisher, replica)
        update = (publisher.statistics.bytes_sent - before) / 5
        moving = 20 * (3 + 1)  # three bodies and the robot itself
        assert update < moving * (10 * 8 + 8) + 2000, "geoms at rest and names are not sent again"
        assert difference(graph.world, replica.world) == ""


def test_serve_simulates_copies_of_a_robot_file() -> None:
    options = ("--envs", "6", "--shown", "2", "--ground", "--rate", "200", "--origin", "47,8,400")
    with serving(gymnasium_model("hopper"), *options) as (_, endpoint), Replica(endpoint) as replica:
        replica.wait_until_whole(PATIENCE_S)
        world = replica.world
        assert {"env_0/hopper/torso", "env_1/hopper/torso", "terrain"} <= set(world.names)
        assert "env_2" not in world.names
        assert world.origin == Origin(47, 8, 400)
        start = world.get(world.find("env_1/hopper/torso"), Transform).world_position.copy()
        for _update in replica:
            now = replica.world.get(replica.world.find("env_1/hopper/torso"), Transform).world_position
            if np.linalg.norm(now - start) > 1e-3:
                break


def test_serve_refuses_copies_of_what_is_no_robot(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "diorama.cli", "serve", str(path), "--envs", "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"{path}: --envs, --shown and --ground are for robots (MJCF and URDF files)\n"
