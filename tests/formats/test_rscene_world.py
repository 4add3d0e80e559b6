"""The world that an `.rscene` file becomes: the tree, the poses, the components, and what cannot be read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from diorama.ecs import Bounds, Classification, Sensor, Transform, World, propagate
from diorama.formats import rscene
from diorama.formats.rscene import Appearance, parse
from diorama.schemas.errors import Problem, SceneError
from diorama.tests.formats.rscene_round_trips import HEAD, again, box, forget, same_scene


def test_the_tree_follows_ids_paths_and_attachments(workshop: World) -> None:
    def above(name: str) -> str:
        parent = workshop.parent(workshop.find(name))
        return "" if parent is None else workshop.name(parent)

    assert above("/World") == ""
    assert above("/World/Workshop/Crate/Lid") == "/World/Workshop/Crate"
    assert above("/World/Terrain") == "/World"  # implied by a path
    assert above("/World/Robots/Walker/Head/Eye") == "/World/Robots/Walker/head"  # a link
    assert above("/World/Robots/Walker/head") == "/World/Robots/Walker"
    assert above("/World/Workshop/Cart/child_1") == "/World/Workshop/Cart"
    assert above("/World/Robots/Walker/ik_0") == "/World/Robots"  # targets are in the world frame
    assert above("/World/Terrain/Yard/splat_0") == "/World/Terrain/Yard"
    assert workshop.key(workshop.find("/World/Workshop/Crate")) == "object_crate"


def test_axes_are_flipped_and_nothing_rounded(workshop: World) -> None:
    crate = workshop.get(workshop.find("/World/Workshop/Crate"), Transform)
    assert crate.position.tolist() == [-0.6, -0.2, -0.6]
    assert crate.orientation.tolist() == [0.0, 0.0, -0.6, 0.8]
    assert crate.scale.tolist() == [0.7, 0.5, 0.45]
    assert workshop.resource("gravity") == [0, 0, 9.81]


def test_poses_agree_with_matrices_in_the_axes_of_the_file(workshop: World) -> None:
    propagate(workshop)
    lid = workshop.get(workshop.find("/World/Workshop/Crate/Lid"), Transform)
    # The crate is turned by 2 atan2(0.6, 0.8) about up; the lid stands 0.5 of its height above its middle.
    assert np.allclose(lid.world_position, [-0.6, -0.2, -(0.6 + 0.45 * 0.5)], atol=1e-15)
    turn = 2 * np.arctan2(0.6, 0.8)
    forward = np.array([np.cos(turn), np.sin(turn), 0])  # north-west-up
    x, y, z, w = lid.world_orientation
    turned = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    assert np.allclose(turned, forward * [1, -1, -1], atol=1e-15)


def test_a_light_looks_along_its_direction(workshop: World) -> None:
    lamp = workshop.get(workshop.find("/World/Lights/Lamp"), Transform)
    assert lamp.position.tolist() == [2, 3, -4]
    x, y, z, w = lamp.orientation
    down = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    assert np.allclose(down, [0, 0, 1], atol=1e-15)
    sun = workshop.get(workshop.find("/World/Lights/Sun"), Transform)
    for light in (lamp, sun):
        light.orientation[:] = (0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4))  # east
    saved = rscene.write(workshop)
    lights = {record["path"]: record["direction"] for record in parse(saved).of("light")}
    assert np.allclose(lights["/World/Lights/Lamp"], [0, -1, 0], atol=1e-15)
    length = float(np.linalg.norm([-0.4, 0.5, -1]))  # of the direction that the file has, which is kept
    assert np.allclose(lights["/World/Lights/Sun"], [0, -length, 0], atol=1e-15)
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_components_say_what_the_records_say(workshop: World) -> None:
    crate = workshop.find("/World/Workshop/Crate")
    assert workshop.get(crate, Bounds) == Bounds((1, 1, 1))
    assert workshop.get(crate, Classification) == Classification("crate", 4)
    assert workshop.get(crate, Appearance) == Appearance("paint", "default", False)  # hidden by the override
    assert workshop.asset(workshop.find("/World/Workshop/Crane")) == "meshes/crane.glb"
    assert workshop.asset(workshop.find("/World/Robots/Walker")) == "urdf/walker.urdf"
    eye = workshop.get(workshop.find("/World/Robots/Walker/Head/Eye"), Sensor)
    assert (eye.name, eye.type, eye.parameters["width"]) == ("Eye", "rgb", 1280)
    door = workshop.get(workshop.find("/World/Cameras/Door"), Sensor)
    assert (door.type, door.parameters["verticalFov"], door.parameters["renderMode"]) == ("camera", 52, "rgb")
    assert workshop.get(workshop.find("/World/Workshop/Cart/child_1"), Bounds).size == (0.3, 0.3, 0.1)
    assert workshop.resource("time_step") == 0.002
    assert workshop.resource("solver")["iterations"] == 60
    assert workshop.resource("weather")["preset"] == "overcast"
    assert [material["name"] for material in workshop.resource("materials")] == ["paint", "worn steel"]


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("box", (1, 1, 1)),
        ("sphere", (1, 1, 1)),
        ("cylinder", (1, 1, 2)),
        ("capsule", (1, 1, 3)),
        ("mesh", None),
    ],
)
def test_a_primitive_has_the_bounds_of_its_shape(shape: str, size: tuple[float, ...] | None) -> None:
    line = box("/World/a").replace(b" box ", f" {shape} ".encode()).replace(b" 0.5 1 1 ", b" 0.5 2 1 ")
    world = rscene.read(HEAD + line)
    bounds = world.try_get(world.find("/World/a"), Bounds)
    assert (None if bounds is None else bounds.size) == size


def test_without_inheritance_children_stand_in_the_world_frame() -> None:
    lines = box("/World/A", "id=a", position="5 0 0") + box("/World/A/B", "parentGroupId=a", position="1 0 0")
    inherited = rscene.read(HEAD + lines)
    flat = rscene.read(HEAD + b"scene_graph inheritedTransforms=false\n" + lines)
    for world, north in ((inherited, 6), (flat, 1)):
        propagate(world)
        assert world.get(world.find("/World/A/B"), Transform).world_position[0] == north
        assert same_scene(world, again(forget(world))) == ""


def test_a_path_below_a_thing_does_not_inherit_its_pose() -> None:
    world = rscene.read(HEAD + box("/World/A", position="5 0 0") + box("/World/A/B"))
    assert world.parent(world.find("/World/A/B")) == world.find("/World")


def test_strict_reading_names_every_error_and_lenient_forgives_it() -> None:
    bad = (
        HEAD
        + box("/World/A", "visualTransparency=lots")
        + box("/World/B", rotation="0 0 0 0")
        + b"gravity 1 2\nnew_tag 1\n"
    )
    with pytest.raises(SceneError) as caught:
        rscene.read(bad)
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5]
    warnings: list[Problem] = []
    world = rscene.read(bad, strict=False, warnings=warnings)
    assert len(warnings) == 4
    assert world.get(world.find("/World/B"), Transform).orientation.tolist() == [0, 0, 0, 1]
    assert rscene.write(forget(world)) == bad


def test_a_path_may_be_deeper_than_python_can_recurse() -> None:
    steps = 3000
    world = rscene.read(HEAD + box("/World" + "/a" * steps))
    assert len(world) == steps + 1
    world.spawn("new", parent=world.find("/World" + "/a" * (steps - 1)))
    assert same_scene(world, again(world)) == ""


def test_things_with_one_path_are_told_apart_by_number() -> None:
    world = rscene.read(HEAD + box("/World/a") * 3 + box("/World/a#2"))
    assert [name for name in world.names if name != "/World"] == [
        "/World/a",
        "/World/a#2",
        "/World/a#3",
        "/World/a#2#2",
    ]
    for number in range(3):
        world.spawn(f"{number}/new")
    reread = again(world)
    paths = [record["path"] for record in parse(rscene.write(reread)).of("group")]
    assert paths == ["/World/new", "/World/new#2", "/World/new#3"]
    assert same_scene(world, reread) == ""


def test_an_origin_that_is_nowhere_is_refused() -> None:
    with pytest.raises(SceneError, match=r"the comment `# diorama`: origin: .*latitude"):
        rscene.read(HEAD + b'# diorama {"origin":[500,0,0]}\n')


def test_circles_are_errors_and_are_cut_when_forgiven() -> None:
    bad = HEAD + box("/World/A", "id=a", "parentGroupId=b") + box("/World/B", "id=b", "parentGroupId=a")
    with pytest.raises(SceneError, match="its parents go in a circle"):
        rscene.read(bad)
    world = rscene.read(bad, strict=False)
    assert len(world) == 2
    assert rscene.write(forget(world)) == bad


def test_check_collects_what_is_odd(tmp_path: Path) -> None:
    path = tmp_path / "odd.rscene"
    path.write_bytes(HEAD + box("/World/A", "parentGroupId=nobody"))
    warnings: list[Problem] = []
    rscene.check(path, warnings=warnings)
    assert [(problem.file, problem.line) for problem in warnings] == [(str(path), 2)]


def directions(orientation: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z, w = orientation
    return np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])


@given(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda d: np.linalg.norm(d) > 1e-3))
def test_any_direction_of_a_light(direction: tuple[float, float, float]) -> None:
    words = " ".join(repr(part) for part in direction)
    world = rscene.read(HEAD + f"light /World/L {words} 1".encode())
    expected = np.array(direction) / np.linalg.norm(direction) * [1, -1, -1]
    # The half circle is met to the root of the rounding error.
    assert np.allclose(
        directions(world.get(world.find("/World/L"), Transform).orientation), expected, atol=1e-5
    )
