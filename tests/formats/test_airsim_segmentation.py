"""Segmentation ids against the lines of Project AirSim's documentation."""

import logging
from pathlib import Path

import pytest

from diorama.ecs import Classification, World
from diorama.formats.airsim import read
from diorama.formats.airsim.components import Actor
from diorama.formats.airsim.segmentation import (
    get_id,
    hashed_id,
    id_map,
    initialize_ids,
    palette,
    read_palette,
    set_id,
)
from diorama.schemas.errors import SceneError, StateError

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("cylinder8", 95),
        ("cylinder_2", 95),
        ("ground", 148),
        ("templatecube_48", 0),
        ("templatecube_rounded_1", 241),
        ("cylinder2", 95),
        ("templatecube_rounded_10", 241),
        ("orangeball", 28),
        ("OrangeBall", 28),
        ("12345", 5),
        ("", None),
        ("Default_Thing", None),
        ("{", (5 + 123) % 256),
        ("é", (5 + 0xE9) % 256),
        ("\U0001f681", (5 + 0xD83D + 0xDE81) % 256),
    ],
)
def test_the_hash_of_a_name(name: str, number: int | None) -> None:
    assert hashed_id(name) == number


def test_ids_are_given_at_load_by_the_owners_name_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "diorama.segmentation"):
        world = read(FOLDER / "drone.jsonc")
    number = hashed_id("Heron1")
    assert world.get(world.find("Heron1/Rotor_L"), Classification).segmentation_id == number
    assert caplog.messages[0] == f"[InitSegmentationID] seg_id: {number:3d}, seg_name: 'heron1'"
    assert len(caplog.messages) == 4
    assert id_map(world) == {"Heron1": number, "Heron2": number}
    assert get_id(world, "heron1") == number
    assert get_id(world, "Osprey") == -1


def test_without_owner_name_the_mesh_counts() -> None:
    world = read(FOLDER / "spawn.jsonc")
    assert id_map(world, use_owner_name=False) == {
        "Crate": hashed_id("crate"),
        "duck.glb": hashed_id("duck.glb"),
    }


def crates() -> World:
    world = World()
    for name in ("Crate1", "Crate2", "Barrel"):
        world.spawn(name, Actor("object"), asset=f"/Props/{name[:-1]}")
    return world


def test_ids_already_there_stay_unless_told_otherwise() -> None:
    world = crates()
    world.set(world.find("Crate1"), Classification("box", 7))
    initialize_ids(world)
    assert world.get(world.find("Crate1"), Classification) == Classification("box", 7)
    initialize_ids(world, ignore_existing=True)
    assert world.get(world.find("Crate1"), Classification) == Classification("box", hashed_id("crate"))


def test_ids_are_set_by_name_or_by_a_whole_regular_expression() -> None:
    world = crates()
    assert set_id(world, "Crate1", 40) == 1
    assert set_id(world, "crate1", 41) == 0
    assert set_id(world, "crate.", 42, is_regex=True) == 2
    assert set_id(world, "crate", 43, is_regex=True) == 0
    assert id_map(world) == {"Crate1": 42, "Crate2": 42}
    assert set_id(world, ".*", -1, is_regex=True) == 3
    assert id_map(world) == {}
    with pytest.raises(StateError, match="expected 0 to 255, or a negative number for none, got 256"):
        set_id(world, "Crate1", 256)
    with pytest.raises(StateError, match="expected a regular expression"):
        set_id(world, "(", 1, is_regex=True)


def test_the_palette_has_a_colour_for_every_id_and_another_can_be_read(tmp_path: Path) -> None:
    colors = palette()
    assert len(set(colors)) == 256
    assert all(0 <= part <= 255 for color in colors for part in color)
    table = tmp_path / "palette.txt"
    table.write_text("id [R, G, B]\n\n" + "\n".join(f"{n:3d} [{n}, {255 - n}, 0]" for n in range(256)))
    assert read_palette(table)[3] == (3, 252, 0)
    table.write_text("0 [1, 2, 3]")
    with pytest.raises(SceneError, match="expected the 256 lines"):
        read_palette(table)
