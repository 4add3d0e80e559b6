"""Poses as a renderer wants them: in its axes, as float32 near a centre, between two updates."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from diorama.ecs import Transform, World, propagate
from diorama.geo import AXES
from diorama.runtime.clock import Tick
from diorama.schemas.errors import StateError
from diorama.tests.transport.engines import FREE_PORT, on_every_engine
from diorama.tests.transport.following import catch_up, follow
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica


@pytest.mark.parametrize("axes", ["ned", "enu", "unreal", "gltf"])
def test_poses_come_in_the_axes_of_the_renderer(axes: str) -> None:
    world = World()
    world.spawn("a", position=(1, 2, 3), orientation=(0, 0, np.sqrt(0.5), np.sqrt(0.5)))
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint, axes=axes) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        poses = replica.poses()
        np.testing.assert_array_equal(poses.position, AXES[axes].points(world.poses.position[:1]))
        np.testing.assert_array_equal(poses.orientation, AXES[axes].rotations(world.poses.orientation[:1]))
    with pytest.raises(ValueError, match=r"axes: expected one of ned, .* got 'neb'; did you mean 'ned'?"):
        Replica(FREE_PORT, axes="neb")


@on_every_engine
def test_float32_instances_near_a_moving_centre_do_not_jitter(free_port: str) -> None:
    """A thousand kilometres out, float32 alone is 6 cm coarse; relative to a centre nearby it is not."""
    world = World()
    far = np.array([1.0e6, 2.0e5, -1.0e4])
    world.spawn("a", position=far + np.array([0.001, 0.002, 0.003]))
    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        found = replica.instances(center=far)
        assert found.position.dtype == np.float32
        np.testing.assert_allclose(found.position[0], [0.001, 0.002, 0.003], atol=1e-9)


@on_every_engine
def test_interpolation_between_two_updates(free_port: str) -> None:
    world = World()
    a = world.spawn("a", position=(0, 0, 0))
    turned = Rotation.from_euler("ZYX", [0.9, -0.4, 0.2])
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        with pytest.raises(StateError, match="no update has arrived yet"):
            replica.interpolate(0)
        publisher.publish(world, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        world.get(a, Transform).position[:] = (10.0, 0.0, -4.0)
        world.get(a, Transform).orientation[:] = turned.as_quat()
        late = world.spawn("late", position=(7, 7, 7))
        propagate(world)
        publisher.publish(world, Tick(1, 2_000, 1_000))
        follow(publisher, replica)

        quarter = replica.interpolate(1_250)
        expected = Slerp([0, 1], Rotation.concatenate([Rotation.identity(), turned]))(0.25).as_quat()
        np.testing.assert_allclose(quarter.position[0], [2.5, 0.0, -1.0], atol=1e-12)
        np.testing.assert_allclose(quarter.orientation[0], expected, atol=1e-12)
        assert quarter.entities.tolist() == [a, late]
        assert quarter.position[1].tolist() == [7, 7, 7]
        assert replica.interpolate(9_000).position[0].tolist() == [10, 0, -4]
        np.testing.assert_allclose(replica.interpolate(3_000, extrapolate=True).position[0], [20, 0, -8])
        replica.close()


@on_every_engine
def test_interpolation_never_mixes_two_scenes(free_port: str) -> None:
    """A loaded scene uses rows and keys again: its things must not slide in from where others were."""
    one, two = World(), World()
    one.spawn("drone", position=(0, 0, 0))
    one.spawn("house", position=(5, 5, 0))
    two.spawn("tower", position=(100, 0, 0))
    two.spawn("house", position=(7, 5, 0))
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        publisher.publish(one, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        publisher.publish(two, Tick(1, 2_000, 1_000))
        follow(publisher, replica)
        half = replica.interpolate(1_500)
        assert half.position.tolist() == [[100, 0, 0], [6, 5, 0]]
        replica.close()


def test_interpolation_goes_on_across_a_keyframe_and_leaves_out_what_went() -> None:
    world = World()
    a, b = world.spawn("a"), world.spawn("b")
    with Publisher(FREE_PORT, keyframe_interval=1) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        publisher.publish(world, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        world.get(a, Transform).position[0] = 8.0
        world.despawn(b)
        propagate(world)
        publisher.publish(world, Tick(1, 2_000, 1_000))
        assert follow(publisher, replica).complete
        half = replica.interpolate(1_500)
        assert half.entities.tolist() == [a]
        assert half.position[0].tolist() == [4, 0, 0]
        replica.close()


def test_instances_in_the_axes_of_unreal_are_centimetres_about_the_centre() -> None:
    world = World()
    world.spawn("a", position=(1e6 + 1.0, 2e5 + 2.0, -1e4 - 3.0))
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint, axes="unreal") as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        found = replica.instances(center=(1e6, 2e5, -1e4)).position[0]
        np.testing.assert_allclose(found, AXES["unreal"].points(np.array([1.0, 2.0, -3.0])), atol=1e-4)
        assert sorted(abs(found).tolist()) == [100.0, 200.0, 300.0]
