"""Project AirSim scenes: a corpus that uses every key, its broken twins, and anything anywhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import difference
from diorama.formats.airsim import read
from diorama.formats.airsim.fields import Form
from diorama.formats.airsim.keys import ENV_OBJECT_CONFIG, SCENE
from diorama.formats.airsim.robot import ENV_ACTOR_CONFIG, ROBOT
from diorama.formats.airsim.sensor_keys import SENSORS
from diorama.formats.jsonc import parse
from diorama.runtime.load import check, format_of, load, save
from diorama.schemas.errors import Problem
from diorama.tests.formats.airsim_scenes import FOLDER

PARTS = ("robot_", "actor_", "smoke")
SCENES = sorted(path for path in FOLDER.glob("*.jsonc") if not path.name.startswith(PARTS))
BROKEN = sorted(path for path in (FOLDER / "broken").glob("*.jsonc") if not path.name.startswith(PARTS))


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_every_scene_of_the_corpus_loads_without_a_warning(path: Path) -> None:
    warnings: list[Problem] = []
    world = load(path, warnings=warnings)
    assert format_of(path) == "airsim"
    assert world.resource("scene_id")
    if path.stem != "odd_but_readable":
        assert warnings == []


def test_there_are_at_least_twelve_scenes_each_with_a_broken_twin() -> None:
    twins = {path.stem for path in SCENES} & {path.stem for path in BROKEN}
    assert len(twins) >= 12


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_broken_twins_give_every_error_with_its_exact_text(path: Path) -> None:
    found = [str(problem).replace(f"{path.parent}/", "") for problem in check(path)]
    found = [text.replace(str(path.parent), "broken") for text in found]
    assert found == path.with_suffix(".txt").read_text().splitlines()


def test_what_is_odd_is_read_with_a_warning_for_each_thing() -> None:
    warnings: list[Problem] = []
    read(FOLDER / "odd_but_readable.jsonc", warnings=warnings)
    found = [str(problem).replace(f"{FOLDER}/", "") for problem in warnings]
    assert found == (FOLDER / "odd_but_readable.txt").read_text().splitlines()


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def forms_in(check: Any) -> Iterator[Form]:
    for cell in getattr(check, "__closure__", None) or ():
        inner = cell.cell_contents
        if isinstance(inner, Form):
            yield inner
            for deeper in inner.keys.values():
                yield from forms_in(deeper)
        elif callable(inner):
            yield from forms_in(inner)


def test_the_corpus_exercises_every_key_there_is() -> None:
    used = {key for path in FOLDER.glob("*.jsonc") for key in keys_of(parse(path.read_bytes()).value)}
    top = [SCENE, ROBOT, ENV_ACTOR_CONFIG, ENV_OBJECT_CONFIG, *SENSORS.values()]
    forms = [*top, *(inner for form in top for check in form.keys.values() for inner in forms_in(check))]
    assert len(forms) > 40
    known = {key for form in forms for key in form.keys} - {"particle", "effect"}
    assert known - used == set()


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_scenes_survive_the_scene_document(path: Path, tmp_path: Path) -> None:
    world = load(path)
    save(world, tmp_path / "copy.scene.json")
    assert difference(world, load(tmp_path / "copy.scene.json")) == ""


def places_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(inner, (*path, key))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "1 2 3", "x", "Body", "robot", "1e308 1e308 1e308", "robot_heron.jsonc", "@", "$x"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
CORPUS = [parse(path.read_bytes()).value for path in sorted(FOLDER.glob("*.jsonc"))]


@settings(deadline=None)
@given(st.sampled_from(CORPUS), ANYTHING, st.data())
def test_whatever_stands_anywhere_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, document: Any, wrong: Any, data: st.DataObject
) -> None:
    places = list(places_in(document))
    place = data.draw(st.sampled_from(places))
    changed = orjson.loads(orjson.dumps(document))
    if place:
        holder = changed
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = wrong
    else:
        changed = wrong
    if (
        isinstance(changed, dict) and "id" not in changed
    ):  # the configuration of a robot or an actor: in a scene
        kind = "environment-actors" if "script" in changed else "actors"
        config = "env-actor-config" if "script" in changed else "robot-config"
        changed = {
            "id": "S",
            kind: [{"type": "env_actor" if "script" in changed else "robot", "name": "R", config: changed}],
        }
    path = tmp_path_factory.mktemp("any") / "scene.jsonc"
    path.write_text(json.dumps(changed))
    for problem in check(path, format="airsim", search=[FOLDER]):
        assert problem.line is not None, problem
