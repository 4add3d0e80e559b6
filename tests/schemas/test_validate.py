"""The schemas themselves, and that documents pass or fail them."""

import jsonschema_rs
import orjson
import pytest
from hypothesis import given

from diorama.ecs import World
from diorama.formats.aerosim import document, parse
from diorama.formats.aerosim_profile import profile_document
from diorama.geo import Origin
from diorama.schemas.errors import SceneError
from diorama.schemas.validate import names, problems, schema
from diorama.tests.formats.scene_documents import example
from diorama.tests.formats.scene_worlds import worlds


@pytest.mark.parametrize("name", names())
def test_every_schema_is_one(name: str) -> None:
    jsonschema_rs.meta.validate(schema(name))
    assert schema(name)["$id"] == f"{name}.schema.json"


def test_the_example_passes() -> None:
    assert problems(example(), "scene") == []


@given(worlds())
def test_every_document_we_write_passes(world: World) -> None:
    assert problems(document(world), "scene") == []


@given(worlds(flat=True))
def test_every_document_in_aerosims_encoding_passes(world: World) -> None:
    world.origin = world.origin or Origin(0.0, 0.0, 0.0)
    assert problems(profile_document(world), "scene") == []


def test_every_mistake_is_told_with_its_path() -> None:
    value = example()
    del value["components"]["actor_state"]["entity_0"]["pose"]["transform"]["scale"]
    value["components"]["effectors"]["entity_0"][0]["pose"]["transform"]["position"]["x"] = "3"
    del value["components"]["effectors"]["entity_0"][0]["id"]
    assert {problem.path for problem in problems(value, "scene")} == {
        "components.actor_state.entity_0.pose.transform",
        "components.effectors.entity_0[0]",
        "components.effectors.entity_0[0].pose.transform.position.x",
    }


def test_what_the_schema_refuses_the_reader_refuses_too() -> None:
    value = example()
    value["resources"] = {"origin": {"latitude": 91.0, "longitude": 0.0, "altitude": 0.0}}
    assert problems(value, "scene") != []
    with pytest.raises(SceneError, match="latitude"):
        parse(orjson.dumps(value))


def test_an_unknown_schema_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValueError, match="did you mean 'scene'"):
        problems({}, "scne")
