"""Edits of a world saved to `.rscene`: each changes its words and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import Bounds, Classification, Effector, Sensor, Transform, Velocity, World, propagate
from diorama.formats import rscene
from diorama.formats.rscene import Appearance, RsceneRecord, parse
from diorama.geo import Ellipsoid, Origin
from diorama.tests.formats.rscene_round_trips import (
    HEAD,
    WORKSHOP,
    again,
    box,
    changed_words,
    forget,
    same_scene,
)

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


def test_an_override_of_what_a_node_is_changes_nothing() -> None:
    data = HEAD + box("/World/A") + b"prefab_override /World/A property=path value=/World/B\n"
    assert rscene.write(forget(rscene.read(data))) == data


@pytest.mark.parametrize(
    "line",
    [
        b"object /World/A box 0 0",
        b"light /World/A",
        b"sensor /World/A imu",
        b"terrain_region /World/A 2",
        b"object",
    ],
)
def test_a_record_too_short_for_its_edits_has_them_noted_beside(line: bytes) -> None:
    world = rscene.read(HEAD + b"group /World/G\n" + line + b"\n", strict=False)
    entity = next(found for found in world.entities.tolist() if world.name(found) in ("/World/A", "object"))
    placed = world.get(entity, Transform)
    placed.position[:] = (1, 2, 3)
    placed.orientation[:] = (0, 0, 1, 0)
    placed.scale[:] = (2, 2, 2)
    world.rename(entity, "/World/B")
    world.reparent(entity, world.find("/World/G"))
    assert same_scene(world, rscene.read(rscene.write(world), strict=False)) == ""
