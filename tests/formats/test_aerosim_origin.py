"""The origin of a scene document, and the places on the earth that it says."""

import numpy as np
import orjson

from diorama.ecs import World, difference, propagate
from diorama.formats.aerosim import document, parse, world_from_document
from diorama.geo import Ellipsoid, Origin
from diorama.schemas.errors import Problem
from diorama.tests.formats.scene_documents import example, problems_of


def test_the_origin_in_resources_counts_and_entities_that_disagree_are_odd() -> None:
    value = example()
    value["resources"] = {"origin": {"latitude": 10.0, "longitude": 20.0, "altitude": 30.0}}
    warnings: list[Problem] = []
    world = parse(orjson.dumps(value), warnings=warnings)
    assert world.origin == Origin(10.0, 20.0, 30.0)
    (told,) = [found for found in warnings if found.path.endswith("origin_lla")]
    assert "as resources.origin says" in told.message


def test_entities_that_disagree_on_the_origin_are_an_error() -> None:
    value = example()
    state = value["components"]["actor_state"]
    other = orjson.loads(orjson.dumps(state["entity_0"]["world_coordinate"]))
    other["origin_lla"]["latitude"] = 29.6
    state["entity_1"]["world_coordinate"] = other
    (problem,) = problems_of(value)
    assert (
        "components.actor_state.entity_1.world_coordinate.origin_lla: expected the origin of 'entity_0'"
        in problem
    )
    assert "write it in resources.origin" in problem


def test_a_scene_without_an_origin_has_no_earth() -> None:
    world = world_from_document({"entities": {}, "components": {}})
    assert world.origin is None
    value = document(world)
    assert value == {"entities": {}, "components": {}}


def test_an_ellipsoid_of_ones_own_comes_back() -> None:
    world = World(origin=Origin(1.0, 2.0, 3.0, Ellipsoid(3396190.0, 0.00589)))
    assert world_from_document(document(world)).origin == world.origin
    world.spawn("rover")
    propagate(world)
    value = document(world)
    del value["resources"]
    assert world_from_document(value).origin == world.origin


def test_a_place_more_than_a_metre_off_is_odd_and_one_less_is_not() -> None:
    world = World(origin=Origin(0.0, 180.0, 0.0))
    world.spawn("ship", position=(0, 5, 0))
    propagate(world)
    for name, parts in (("ned", "east"), ("ecef", "y"), ("lla", "altitude"), ("cartesian", "z")):
        for off, expected in ((0.9, []), (1.1, [name])):
            value = document(world)
            value["components"]["actor_state"]["entity_0"]["world_coordinate"][name][parts] += off
            warnings: list[Problem] = []
            world_from_document(value, warnings=warnings)
            assert [found.path.rpartition(".")[2] for found in warnings] == expected
    value = document(world)
    value["components"]["actor_state"]["entity_0"]["world_coordinate"]["lla"]["longitude"] += 360.0
    warnings = []
    world_from_document(value, warnings=warnings)
    assert warnings == []


def test_where_there_is_no_latitude_none_is_written() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    world.spawn("core", position=(0, 0, 6378137.0))
    world.spawn("far", position=(1e308, 0, 0))
    propagate(world)
    states = document(world)["components"]["actor_state"]
    assert "lla" not in states["entity_0"]["world_coordinate"]
    assert states["entity_0"]["world_coordinate"]["ned"]["down"] == 6378137.0
    data = orjson.dumps(document(world))
    assert b"null" not in data
    assert difference(world, parse(data)) == ""


def test_many_oddities_of_a_kind_are_counted() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    world.insert(100, position=np.zeros((100, 3)))
    propagate(world)
    value = document(world)
    for state in value["components"]["actor_state"].values():
        state["world_coordinate"]["ned"]["north"] = 50.0
    warnings: list[Problem] = []
    parse(orjson.dumps(value), warnings=warnings)
    assert len(warnings) == 21
    assert warnings[-1].message == "and 80 more like the last one"
