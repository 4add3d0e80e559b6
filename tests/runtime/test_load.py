"""Which format a file has; loading, saving, checking by it."""

from importlib import import_module
from pathlib import Path

import numpy as np
import orjson
import pytest

import diorama
from diorama.ecs import Transform, World, difference
from diorama.formats.aerosim import document
from diorama.geo import Origin
from diorama.runtime.load import FORMATS, Format, check, format_of, load, save
from diorama.schemas.errors import DioramaError, GeoError, Problem, SceneError
from diorama.tests.formats.scene_documents import example

SCENES = Path(__file__).parent.parent / "scenes"


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_format_can_be_read_or_written_and_is_known_by_an_ending(known: Format) -> None:
    module = import_module(known.module)
    assert callable(getattr(module, "read", None) or module.write)
    assert all(known.suffixes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("houston.scene.json", "scene"),
        ("houston.aerosim.json", "scene"),
        ("houston.sim_config.json", "sim_config"),
    ],
)
def test_formats_that_share_an_ending_are_told_apart_by_content(name: str, expected: str) -> None:
    assert format_of(SCENES / name) == expected


def test_a_message_of_aerosims_is_a_scene(tmp_path: Path) -> None:
    save(load(SCENES / "houston.scene.json"), tmp_path / "m.json", profile="aerosim-message")
    assert format_of(tmp_path / "m.json") == "scene"
    assert len(load(tmp_path / "m.json", profile="aerosim")) == 5


def test_what_is_saved_is_loaded_again_settled(tmp_path: Path) -> None:
    world = load(SCENES / "houston.scene.json")
    camera = world.get(world.find("camera_0"), Transform)
    camera.position[0] += 10.0  # not propagated: saving does that
    save(world, tmp_path / "again.scene.json")
    again = diorama.load(str(tmp_path / "again.scene.json"))
    assert difference(world, again) == ""
    position = again.get(again.find("camera_0"), Transform).world_position
    assert position == pytest.approx((120.0, -28.0, -59.5), abs=1e-12)
    stated = orjson.loads((tmp_path / "again.scene.json").read_bytes())["components"]["actor_state"]
    assert stated[again.key(again.find("camera_0"))]["world_coordinate"]["ned"]["east"] == pytest.approx(
        -28.0
    )


def test_an_origin_that_is_given_counts(tmp_path: Path) -> None:
    place = Origin(47.0, 8.0, 400.0)
    assert load(SCENES / "houston.scene.json", origin=place).origin == place
    save(World(), tmp_path / "empty.json")
    world = load(tmp_path / "empty.json")
    assert world.origin is None
    with pytest.raises(GeoError, match="--origin LAT,LON,ALT"):
        diorama.ecs.locate(world)


def test_a_failed_save_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    target = tmp_path / "scene.json"
    target.write_text("precious")
    world = load(SCENES / "houston.scene.json")
    world.set_resource("noise", [np.nan])
    with pytest.raises(DioramaError, match=r"resource 'noise'\[0\]: expected finite numbers, got nan"):
        save(world, target)
    assert [path.name for path in tmp_path.iterdir()] == ["scene.json"]
    assert target.read_text() == "precious"


def test_check_tells_errors_and_notes_oddities(tmp_path: Path) -> None:
    value = example()
    data = orjson.dumps(value)
    (tmp_path / "odd.json").write_bytes(data.replace(b'{"entities":{', b'{"entities":{"entity_0":[],'))
    warnings: list[Problem] = []
    assert check(tmp_path / "odd.json", warnings=warnings) == []
    assert "written twice" in warnings[0].message
    del value["components"]["sensor"]
    data = orjson.dumps(value)
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(data)
    column = data.index(b'"sensor"') + 1
    message = "entities.entity_2[2]: components.sensor has no 'entity_2'"
    assert [str(problem) for problem in check(wrong)] == [f"{wrong}:1:{column}: {message}"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.json", "nothing.json: no such file or folder"),
        ("", "expected a file, got a folder; name a file in it"),
        ("scene.docx", "scene.docx: expected a file name ending in .json"),
    ],
)
def test_a_file_that_is_none(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=message):
        load(tmp_path / name)
    assert any(message in str(problem) for problem in check(tmp_path / name))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "scene.json").mkdir()
    with pytest.raises(SceneError, match="expected a file, got a folder"):
        load(tmp_path / "scene.json")
    with pytest.raises(SceneError):
        save(World(), tmp_path / "scene.json")
    with pytest.raises(SceneError, match="no such file or folder"):
        save(World(), tmp_path / "nowhere" / "scene.json")


def test_a_file_nested_too_deeply_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonc"
    deep = '{"x": ' * 600 + "1" + "}" * 600
    path.write_text('{"id": "s", "actors": [], "clock": {"type": "steppable"}, "odd": ' + deep + "}", "utf-8")
    told = f"{path}: expected some hundred levels of brackets at most, got more"
    assert [str(problem) for problem in check(path)] == [told]
    with pytest.raises(SceneError, match="levels of brackets"):
        load(path)


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(
        DioramaError, match=r"format: expected one of scene, .*got 'scne'; did you mean 'scene'"
    ):
        load(SCENES / "houston.scene.json", format="scne")
    with pytest.raises(DioramaError, match="format scene: there is no option 'colour' to read it; there is "):
        load(SCENES / "houston.scene.json", colour="red")
    with pytest.raises(DioramaError, match="format sim_config: there is no way to write it"):
        save(World(), tmp_path / "x.json", format="sim_config")
    with pytest.raises(DioramaError, match=r"expected a file name ending in .*json"):
        save(World(), tmp_path / "scene.docx")


def test_a_scene_without_entities_is_a_scene(tmp_path: Path) -> None:
    save(World(), tmp_path / "empty.json")
    assert document(load(tmp_path / "empty.json")) == {"entities": {}, "components": {}}
