"""`.rscene` to the world and back: the tree, the poses, the edits, and nothing else changed."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from diorama.ecs import (
    Bounds,
    Classification,
    Effector,
    Entity,
    Sensor,
    Transform,
    Velocity,
    World,
    difference,
    propagate,
)
from diorama.formats import rscene
from diorama.formats.rscene import Appearance, RsceneRecord, parse
from diorama.geo import Ellipsoid, Origin
from diorama.runtime.load import load
from diorama.schemas.errors import Problem, SceneError
from diorama.tests.ecs.strategies import forests

SCENES = Path(__file__).parent.parent / "scenes"
WORKSHOP = (SCENES / "workshop.rscene").read_bytes()
HEAD = b"raisim_engine_scene 2\n"
ANGLE = np.pi / 3


def box(path: str, *extra: str, position: str = "0 0 0", rotation: str = "1 0 0 0") -> bytes:
    shape = "1 1 1 0.5 1 1 default engine_default false true false - dynamic true 1 1"
    return " ".join(["object", path, "box", position, rotation, shape, *extra]).encode() + b"\n"


def changed_words(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    """The words that differ; fails when anything but words changed."""
    lines = list(zip(before.split(b"\n"), after.split(b"\n"), strict=True))
    return [
        pair
        for old, new in lines
        if old != new
        for pair in zip(old.split(b" "), new.split(b" "), strict=True)
        if pair[0] != pair[1]
    ]


def same_scene(a: World, b: World) -> str:
    """The difference of two worlds, the records they came from left aside."""
    for world in (a, b):
        for entity in world.entities.tolist():
            if world.has(entity, RsceneRecord):
                world.remove(entity, RsceneRecord)
        world.set_resource("rscene", None)
    return difference(a, b)


def again(world: World) -> World:
    return rscene.read(rscene.write(world))


@pytest.fixture
def workshop() -> World:
    return rscene.read(WORKSHOP)


def forget(world: World) -> World:
    """The world as one that was not read a moment ago: saving has to look at everything."""
    world.set_resource("touched", True)
    world.set_resource("touched", None)
    return world


def test_untouched_the_bytes_come_back(workshop: World) -> None:
    assert rscene.write(workshop) == WORKSHOP
    assert rscene.write(forget(workshop)) == WORKSHOP
    messy = (
        WORKSHOP.replace(b"\n", b"\r\n").replace(b" 0 0 ", b"\t0.0  00 ").replace(b"=true", b"=ON")
        + b"# \xff end"
    )
    assert rscene.write(forget(rscene.read(messy))) == messy
    assert difference(rscene.read(WORKSHOP), again(forget(workshop))) == ""


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


POSED = [
    ("/World/Workshop/Crate", 3),
    ("/World/Workshop/Crate/Lid", 3),
    ("/World/Workshop/Cart", 3),
    ("/World/Workshop/Cart/child_1", 3),
    ("/World/Workshop/Banner", 3),
    ("/World/Sandbox/Sand", 3),
    ("/World/Robots/Walker", 3),
    ("/World/Robots/Walker/Head/Eye", 3),
    ("/World/Cameras/Door", 3),
    ("/World/Probes/Hall", 3),
    ("/World/Effects/Mist", 3),
    ("/World/Decals/Stripe", 3),
    ("/World/Volumes/Room", 3),
    ("/World/Terrain/Yard", 3),
    ("/World/Lights/Lamp", 1),  # one word holds all three numbers
    ("/World/Robots/Walker/ik_0", 1),
]


@pytest.mark.parametrize(("name", "words"), POSED)
def test_moving_one_thing_changes_the_words_of_its_position(workshop: World, name: str, words: int) -> None:
    entity = workshop.find(name)
    workshop.get(entity, Transform).position[:] = (0.125, 7.5, -1e-4)
    saved = rscene.write(workshop)
    changed = changed_words(WORKSHOP, saved)
    assert len(changed) == words
    text = b",".join(new for _, new in changed).rpartition(b"=")[2]
    assert text == b"0.125,-7.5,1e-04"
    assert same_scene(workshop, rscene.read(saved)) == ""


@pytest.mark.parametrize("name", [name for name, words in POSED[:9] if words == 3])
def test_turning_one_thing_changes_the_words_of_its_rotation(workshop: World, name: str) -> None:
    workshop.get(workshop.find(name), Transform).orientation[:] = (0.1, 0.7, -0.5, 0.5)
    saved = rscene.write(workshop)
    changed = changed_words(WORKSHOP, saved)
    assert {new for _, new in changed} <= {b"0.5", b"0.1", b"-0.7"}
    assert same_scene(workshop, rscene.read(saved)) == ""


@settings(max_examples=30)
@given(st.data())
def test_the_quick_way_to_save_what_moved_is_the_careful_way(data: st.DataObject) -> None:
    scene = b"\n".join(line for line in WORKSHOP.split(b"\n") if not line.startswith(b"prefab_override"))
    world = rscene.read(scene)
    movable = [entity for entity in world.entities.tolist() if world.get(entity, RsceneRecord).text]
    for entity in data.draw(st.lists(st.sampled_from(movable), max_size=4)):
        transform = world.get(entity, Transform)
        transform.position[:] = data.draw(st.tuples(*[st.floats(-1e6, 1e6)] * 3))
        if data.draw(st.booleans()):
            transform.orientation[:] = (0.5, 0.5, -0.5, 0.5)
    saved = rscene.write(world)
    assert rscene.write(forget(world)) == saved
    assert same_scene(world, rscene.read(saved)) == ""


def test_what_has_no_pose_in_the_format_keeps_it_beside(workshop: World) -> None:
    for name in ("/World/Workshop", "/World/Workshop/Hoist", "/World/Sensing/Map", "/World/Lights"):
        transform = workshop.get(workshop.find(name), Transform)
        transform.position[:] = (1, 2, 3)
        transform.scale[:] = 2
    saved = rscene.write(workshop)
    assert same_scene(workshop, rscene.read(saved)) == ""
    # And a second save of the same world is the same file.
    assert rscene.write(forget(rscene.read(saved))) == saved


def test_despawned_things_and_their_parts_are_gone(workshop: World) -> None:
    workshop.despawn(workshop.find("/World/Workshop/Cart"))
    workshop.despawn(workshop.find("/World/Workshop/Hoist"))
    saved = rscene.write(workshop)
    gone = [line for line in WORKSHOP.split(b"\n") if b"/World/Workshop/Cart" in line or b"/Hoist" in line]
    assert len(gone) == 4
    assert saved == b"\n".join(line for line in WORKSHOP.split(b"\n") if line not in gone)
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_what_referred_to_something_gone_can_still_be_read(workshop: World) -> None:
    workshop.despawn(workshop.find("/World/Robots/Walker"))  # its target stays behind
    workshop.despawn(workshop.find("/World/Workshop/Crane"))  # one end of the wire
    saved = rscene.write(workshop)
    document = parse(saved)
    assert document.of("articulated_ik") == []
    assert (document.of("wire")[0]["bodyA"], document.of("wire")[0]["bodyB"]) == ("", "compound_cart")
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_new_things_come_where_the_saver_would_put_them(workshop: World) -> None:
    shelf = workshop.spawn(
        "shelf",
        Velocity((1, 0, 0)),
        asset="meshes/shelf.glb",
        position=(1, 2, 3),
        parent=workshop.find("/World/Workshop"),
    )
    workshop.spawn("shelf/eye", Sensor("eye", "lidar", {"lidarChannels": 16, "mine": [1]}), parent=shelf)
    workshop.spawn("alone", Effector("rotor", "r.glb"), Bounds((1, 2, 3)), position=(0, 0, 1))
    saved = rscene.write(workshop)
    tags = [record.tag for record in parse(saved).records]
    assert tags.count("object") == 6
    assert tags.index("compound") == len(tags) - 1 - tags[::-1].index("object") + 1
    new = next(record for record in parse(saved).of("object") if record["path"] == "/World/Workshop/shelf")
    assert (new["primitive"], new["meshPath"], new["parentGroupId"]) == (
        "mesh",
        "meshes/shelf.glb",
        "folder_workshop",
    )
    lidar = parse(saved).of("sensor")[-1]
    assert (lidar["kind"], lidar["parentObject"], lidar["lidarChannels"]) == (
        "lidar",
        workshop.key(shelf),
        16,
    )
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_renaming_keeps_the_id_that_the_old_path_implied() -> None:
    world = rscene.read(HEAD + box("/World/a"))
    world.rename(world.find("/World/a"), "/World/b")
    assert rscene.write(world) == HEAD + box("/World/b", "id=object_/World/a")


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


def test_renaming_takes_all_that_points_along(workshop: World) -> None:
    workshop.rename(workshop.find("/World/Workshop/Crate"), "/World/Workshop/Chest")
    assert rscene.write(workshop) == WORKSHOP.replace(b"/World/Workshop/Crate ", b"/World/Workshop/Chest ")
    workshop.rename(workshop.find("/World/Workshop/Cart"), "/World/Workshop/Trolley")
    saved = rscene.write(workshop)
    assert len([record for record in parse(saved).records if b" /World/Workshop/Trolley " in record.raw]) == 3
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_reparenting_keeps_the_place_when_the_scene_says_so(workshop: World) -> None:
    propagate(workshop)
    lid = workshop.find("/World/Workshop/Crate/Lid")
    before = workshop.get(lid, Transform).world_position.copy()
    rscene.reparent(workshop, lid, workshop.find("/World/Workshop/Cart"))
    saved = rscene.write(workshop)
    reread = rscene.read(saved)
    assert same_scene(workshop, again(workshop)) == ""
    propagate(reread)
    moved = reread.get(reread.find("/World/Workshop/Crate/Lid"), Transform)
    assert np.allclose(moved.world_position, before, atol=1e-12)
    assert b"parentGroupId=compound_cart" in saved
    local = rscene.read(
        WORKSHOP.replace(b"keepWorldTransformOnReparent=true", b"keepWorldTransformOnReparent=false")
    )
    lid = local.find("/World/Workshop/Crate/Lid")
    rscene.reparent(local, lid, local.find("/World/Workshop/Cart"))
    assert local.get(lid, Transform).position.tolist() == [0, 0, -0.5]


def test_sensors_move_between_bodies_and_links(workshop: World) -> None:
    imu, eye = (workshop.find(f"/World/{name}") for name in ("Workshop/Crate/Imu", "Robots/Walker/Head/Eye"))
    workshop.reparent(imu, workshop.find("/World/Robots/Walker/head"))
    workshop.reparent(eye, workshop.find("/World/Workshop/Crate"))
    saved = rscene.write(workshop)
    sensors = {record["path"].rpartition("/")[2]: record for record in parse(saved).of("sensor")}
    assert (sensors["Imu"]["parentObject"], sensors["Imu"]["parentLink"]) == ("articulated_walker", "head")
    assert (sensors["Eye"]["parentObject"], sensors["Eye"]["parentLink"]) == ("object_crate", "")
    assert same_scene(workshop, rscene.read(saved)) == ""


@pytest.mark.parametrize("name", ["/World/Robots/Walker", "/World/Robots"])  # a record, an implied folder
@pytest.mark.parametrize("value", [Velocity((1.0, 0.0, 0.0)), Bounds((1.0, 2.0, 3.0))])
def test_a_component_that_was_noted_can_be_taken_away(workshop: World, name: str, value: object) -> None:
    workshop.set(workshop.find(name), value)
    noted = again(workshop)
    noted.remove(noted.find(name), type(value))
    assert rscene.write(noted) == WORKSHOP


def test_a_velocity_that_was_noted_may_change(workshop: World) -> None:
    name = "/World/Robots/Walker"
    workshop.set(workshop.find(name), Velocity((1.0, 0.0, 0.0)))
    noted = again(workshop)
    noted.get(noted.find(name), Velocity).linear[0] = 2.0
    reread = again(noted)
    assert reread.get(reread.find(name), Velocity).linear.tolist() == [2.0, 0.0, 0.0]


def test_a_note_further_down_is_not_taken_for_one_that_is_gone(workshop: World) -> None:
    second = b'# diorama {"origin":[1.0,2.0,3.0]}\n'
    world = rscene.read(WORKSHOP + b'# diorama {"origin":[47.4,8.5,400.0]}\n' + second)
    world.origin = None
    assert again(world).origin is None


def test_an_origin_that_was_noted_can_be_taken_away(workshop: World) -> None:
    workshop.origin = Origin(47.4, 8.5, 400.0, Ellipsoid(6_371_000.0, 0.0))
    noted = again(workshop)
    assert noted.origin == workshop.origin
    noted.origin = Origin(47.4, 8.5, 400.0)
    noted = again(noted)
    assert noted.origin == Origin(47.4, 8.5, 400.0)
    noted.origin = None
    assert rscene.write(noted) == WORKSHOP


def test_links_can_be_moved(workshop: World) -> None:
    workshop.get(workshop.find("/World/Robots/Walker/head"), Transform).position[:] = (0, 0, -0.4)
    assert same_scene(workshop, again(workshop)) == ""


def test_components_and_assets_are_written_to_their_fields(workshop: World) -> None:
    crane, eye = workshop.find("/World/Workshop/Crane"), workshop.find("/World/Robots/Walker/Head/Eye")
    workshop.set(crane, Appearance("worn steel", "rubber", False), Classification("crane", 9))
    workshop.set_asset(crane, "meshes/crane b.glb")
    sensor = workshop.get(eye, Sensor)
    workshop.set(eye, Sensor(sensor.name, "depth", {**sensor.parameters, "width": 640}))
    saved = rscene.write(workshop)
    record = next(record for record in parse(saved).of("object") if record["id"] == "object_crane")
    assert (record["material"], record["contactMaterial"], record["visible"]) == (
        "worn steel",
        "rubber",
        False,
    )
    assert (record["meshPath"], record["semanticClass"], record["instanceId"]) == (
        "meshes/crane b.glb",
        "crane",
        9,
    )
    camera = parse(saved).of("sensor")[0]
    assert (camera["kind"], camera["width"]) == ("depth", 640)
    assert b"diorama" not in saved
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_resources_are_written_to_their_records(workshop: World) -> None:
    workshop.set_resource("gravity", [0.0, 0.0, 3.71])
    workshop.set_resource("time_step", 0.001)
    workshop.set_resource("weather", {**workshop.resource("weather"), "windSpeed": 9.5})
    workshop.set_resource("materials", workshop.resource("materials")[:1])
    workshop.set_resource("editor_ux", None)
    workshop.set_resource("anything", {"of": ["ours", 1]})
    saved = rscene.write(workshop)
    document = parse(saved)
    assert b"\ngravity 0 0 -3.71\n" in saved
    assert b"\ntime_step 0.001\n" in saved
    assert b"windSpeed=9.5\n" in saved
    assert len(document.of("material")) == 1
    assert document.of("editor_ux") == []
    assert same_scene(workshop, rscene.read(saved)) == ""


def test_an_override_is_applied_and_takes_the_edit() -> None:
    data = (
        HEAD + b"prefab_override /World/A property=position value=1,2,3\n" + box("/World/A") + box("/World/B")
    )
    world = rscene.read(data)
    a = world.get(world.find("/World/A"), Transform)
    assert a.position.tolist() == [1, -2, -3]
    a.position[0] = 4
    saved = rscene.write(world)
    assert saved == data.replace(b"value=1,2,3", b"value=4,2,3")
    a.orientation[:] = (0, 0, 1, 0)
    assert same_scene(world, again(world)) == ""


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


@st.composite
def foreign_worlds(draw: st.DrawFn) -> World:
    """Worlds that never saw the format: any names, parents, poses and components."""
    parents, poses = draw(forests(uniform_scale=False, max_size=8))
    world = World(draw(st.sampled_from([None, Origin(47.4, 8.5, 400.0)])))
    names = draw(
        st.lists(st.text(min_size=1, max_size=8), min_size=len(parents), max_size=len(parents), unique=True)
    )
    entities = world.insert(
        names,
        parents=np.array(parents, dtype=np.int64),
        position=poses[:, :3],
        orientation=poses[:, 3:7],
        scale=poses[:, 7:],
    )
    for entity in entities.tolist():
        decorate(draw, world, entity)
    if draw(st.booleans()):
        world.set_resource(
            "weather", draw(st.sampled_from(["sunny", {"preset": "clear"}, {"odd": [1, None]}]))
        )
    return world


def decorate(draw: st.DrawFn, world: World, entity: Entity) -> None:
    choices: list[Any] = [
        Sensor("s", "camera", {"width": 640, "unknown": {"a": 1}}),
        Sensor("s", "imu", {}),
        Bounds((1.0, 2.0, 3.0)),
        Classification("car", 3),
        Velocity((1.0, -0.0, 2.5), (0.0, 0.0, 1.0)),
        Effector("rotor", "x"),
    ]
    for value in draw(st.lists(st.sampled_from(choices), max_size=2, unique_by=type)):
        world.set(entity, value)
    if draw(st.booleans()):
        world.set_asset(entity, draw(st.sampled_from(["a.glb", "assets/b c.obj", "%"])))
    if draw(st.booleans()):
        world.set_group(entity, "not_ours", {"x": [1, "two", None]})


@settings(max_examples=60)
@given(foreign_worlds())
def test_any_world_comes_back_from_the_format(world: World) -> None:
    saved = rscene.write(world)
    reread = rscene.read(saved)
    assert rscene.write(forget(reread)) == saved
    assert same_scene(world, reread) == ""


@settings(max_examples=40)
@given(st.data())
def test_any_history_of_edits_comes_back(data: st.DataObject) -> None:
    world = rscene.read(WORKSHOP)
    for _ in range(data.draw(st.integers(1, 5))):
        if len(world):
            edit(data, world)
        if data.draw(st.booleans()):
            world = again(world)
    saved = rscene.write(world)
    reread = rscene.read(saved)
    assert rscene.write(forget(reread)) == saved
    assert same_scene(world, reread) == ""


def edit(data: st.DataObject, world: World) -> None:
    entity = data.draw(st.sampled_from(world.entities.tolist()))
    poses, tree = ["move", "turn", "size", "drive", "stop"], ["name", "parent", "spawn", "despawn"]
    action = data.draw(st.sampled_from([*poses, *tree, "asset", "hide", "bare", "place", "weather"]))
    transform = world.get(entity, Transform)
    if action == "move":
        transform.position[:] = data.draw(st.tuples(*[st.floats(-1e6, 1e6)] * 3))
    elif action == "turn":
        transform.orientation[:] = (0.0, np.sin(ANGLE / 2), 0.0, np.cos(ANGLE / 2))
    elif action == "size":
        transform.scale[:] = data.draw(st.tuples(*[st.floats(0.5, 2)] * 3))
    elif action == "name":
        name = data.draw(st.sampled_from(["new", "/World/Renamed", "/World/Workshop/Renamed", "a b", "/odd"]))
        if name not in world.names:
            world.rename(entity, name)
    elif action == "parent":
        parent = data.draw(st.sampled_from([None, *world.entities.tolist()]))
        above = parent
        while above is not None and above != entity:
            above = world.parent(above)
        if above is None:
            world.reparent(entity, parent)
    elif action == "spawn":
        world.spawn(parent=entity, asset=data.draw(st.sampled_from(["", "x.glb"])), position=(1, 2, 3))
    elif action == "despawn" and len(world) > 10:
        world.despawn(entity, children=data.draw(st.sampled_from(["despawn", "grandparent"])))
    elif action == "asset":
        world.set_asset(entity, "meshes/other.glb")
    elif action == "hide":
        world.set(entity, Appearance("paint", "rubber", False))
    elif action == "bare":
        for cls in (Appearance, Bounds, Classification, Sensor):
            if world.has(entity, cls):
                world.remove(entity, cls)
    elif action == "drive":
        world.set(entity, Velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    elif action == "stop" and world.has(entity, Velocity):
        world.remove(entity, Velocity)
    elif action == "place":
        world.origin = data.draw(
            st.sampled_from([None, Origin(47.4, 8.5, 400.0), Origin(0.0, 0.0, 0.0, Ellipsoid(6e6, 0.0))])
        )
    elif action == "weather":
        world.set_resource("weather", data.draw(st.sampled_from([None, "sunny", {"preset": "clear"}])))


MINIMAL = b"""raisim_engine_scene 1
time_step 0.0025
gravity 0 0 -9.81
solver 80 1e-07 0.2 accurate defaultFriction=0.8 defaultRestitution=0
snapping true true false false false false false false 0.1 15 0.1 0 surfaceNormal=0,0,1
asset_root .
scene_graph inheritedTransforms=true keepWorldTransformOnReparent=true dragReparenting=true transformSpace=global
editor_ux multiSelect=true copyPaste=true duplicate=true selectionFilterKinds=
render_bake probeCaptureOnSave=false lightmapResolution=1024 probeCubemapSize=256 outputDirectory=bakes
environment 0.08 0.10 0.13 0.24 0.25 0.29 0 true true 10 - backgroundMode=rayrai_sky pbrEnvironmentIntensity=1
weather true preset=clear quality=balanced timeOfDay=12
rayrai_render preset=balanced custom=false colorMode=unreal_preview
material mat_box 0.7 0.3 0.2 1 0 0.6 0 0 0 0 false - - - - - - id=mat_box
group /World id=folder_world parentId=- visible=true locked=false expanded=true
group /World/Props id=folder_props parentId=folder_world visible=true locked=false expanded=true
light /World/MainLight -0.3 0.4 -1.0 3.5 id=light_main type=directional position=0,0,5 shadows=true
camera /World/Cam 3 -5 2 0.92 0 0 0.39 52 0.05 100 1280 720 rgb true id=camera_main
object /World/Ground ground 0 0 0 1 0 0 0 20 20 1 1 0 0 default mat_box false true true - static true 1 \
18446744073709551615 id=object_ground parentGroupId=folder_world
object /World/Props/CrateA box 0 0 0.5 1 0 0 0 1 1 1 0.5 1 1.0 default mat_box false true false - dynamic true 1 \
18446744073709551615 id=object_cratea parentGroupId=folder_props
""".replace(b"\\\n", b"")


def test_the_smallest_whole_scene() -> None:
    world = rscene.read(MINIMAL)
    assert len(world) == 6
    assert rscene.write(forget(world)) == MINIMAL
    world.get(world.find("/World/Props/CrateA"), Transform).position[2] -= 1
    assert changed_words(MINIMAL, rscene.write(world)) == [(b"0.5", b"1.5")]


@pytest.mark.parametrize("name", ["houston.scene.json", "houston.sim_config.json"])
def test_scenes_of_other_formats_come_back(name: str) -> None:
    world = load(SCENES / name)
    saved = rscene.write(world)
    assert same_scene(world, rscene.read(saved)) == ""


def test_a_scene_document_carries_the_records_along(tmp_path: Path) -> None:
    # In processes of their own: the second never reads `.rscene`, it only finds its records in the document.
    for source, target in (
        (SCENES / "workshop.rscene", "w.scene.json"),
        (tmp_path / "w.scene.json", "w.rscene"),
    ):
        call = [sys.executable, "-m", "diorama.cli", "convert", str(source), str(tmp_path / target)]
        subprocess.run(call, check=True, capture_output=True)
    assert (tmp_path / "w.rscene").read_bytes() == WORKSHOP


def test_streams_strings_and_files(tmp_path: Path) -> None:
    world = rscene.read(io.BytesIO(WORKSHOP))
    stream = io.BytesIO()
    rscene.write(world, stream)
    assert stream.getvalue() == WORKSHOP
    assert difference(rscene.read(WORKSHOP.decode()), world) == ""
    assert difference(rscene.read(io.StringIO(WORKSHOP.decode())), world) == ""
    path = tmp_path / "w.rscene"
    rscene.write(world, path)
    assert path.read_bytes() == WORKSHOP
    assert difference(rscene.read(str(path)), world) == ""
    with pytest.raises(SceneError, match="no such file"):
        rscene.read(tmp_path / "none.rscene")


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
