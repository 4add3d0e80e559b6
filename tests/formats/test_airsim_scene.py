"""The scene file of Project AirSim: its keys, its origins and geo points, the files it names."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from diorama.ecs import Transform
from diorama.formats.airsim import read
from diorama.formats.airsim.poses import ned_by_geocentric_latitude
from diorama.geo import ned_from_lla
from diorama.schemas.errors import SceneError
from diorama.tests.formats.airsim_scenes import FOLDER, HOME, POSE, place, settled


def test_spawned_objects_and_geo_points() -> None:
    world = settled("spawn.jsonc")
    crate = place(world, "Crate 1")
    assert crate.world_position.tolist() == [1, 2, 3]
    assert crate.world_scale.tolist() == [1, 2, 3]
    assert world.asset(world.find("Duck")) == "models/duck.glb"
    np.testing.assert_allclose(place(world, "Duck").world_position, [0, 0, -10], atol=1e-6)


def test_defaults_are_the_seed_documents() -> None:
    world = settled("minimal.jsonc")
    assert world.origin == HOME
    assert world.resource("clock") == {
        "type": "steppable",
        "step_ns": 20_000_000,
        "realtime_update_ns": 3_000_000,
        "pause_on_start": False,
    }


def test_scene_keys_become_resources() -> None:
    assert settled("drone.jsonc").resource("clock")["pause_on_start"] is True
    assert settled("real_time.jsonc").resource("clock")["type"] == "real-time"
    odds = settled("odds.jsonc")
    assert odds.resource("wind") == {"velocity": [3.0, 3.0, 0.0]}
    assert odds.resource("airsim")["scene-type"] == "CesiumGIS"
    assert settled("tiles.jsonc").resource("airsim")["tiles-lod-max"] == 23


def test_a_geo_point_is_geodetically_right_and_airsims_only_when_asked() -> None:
    right, theirs = settled("geo_point.jsonc"), settled("geo_point.jsonc", exact=True)
    north = place(right, "North").world_position
    np.testing.assert_allclose(north, ned_from_lla((47.651468, -122.140165, 122.0), HOME), atol=1e-9)
    # float32 moves the longitude by up to half of 7.6e-6 degrees, 0.3 m; the tilt of "down" is 3.72 m in 0.01°
    difference = place(theirs, "North").world_position - north
    assert difference[2] == pytest.approx(3.72, abs=0.35)
    assert abs(difference[1]) < 0.35
    pitch = Rotation.from_quat(place(right, "Up").world_orientation).as_matrix()
    assert pitch[2, 0] == pytest.approx(-1.0, abs=POSE)
    snapped = Rotation.from_quat(place(theirs, "Up").world_orientation)
    expected = Rotation.from_euler("ZYX", [0, 90.1, 0], degrees=True)
    assert (snapped.inv() * expected).magnitude() < 1e-6  # rad: float32 angles


@pytest.mark.parametrize(
    ("lla", "axis", "error"),
    [  # metres that Project AirSim is off by, north or down, as found in its formulas by others
        ((47.642468, -122.140165, 122.0), 2, 0.372),
        ((47.651468, -122.140165, 122.0), 2, 3.72),
        ((47.741468, -122.140165, 122.0), 2, 37.2),
        ((47.641468, -122.140165, 222.0), 0, 0.33),
    ],
)
def test_the_geocentric_tilt_has_the_size_it_has_in_the_field(
    lla: tuple[float, float, float], axis: int, error: float
) -> None:
    found = np.array(ned_by_geocentric_latitude(lla, HOME)) - ned_from_lla(lla, HOME)
    assert abs(found[axis]) == pytest.approx(error, rel=0.02)
    assert abs(found[1]) < 1e-9


@given(st.tuples(*[st.floats(-1e4, 1e4)] * 3), st.tuples(*[st.floats(-180, 180)] * 3))
def test_origins_are_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, xyz: tuple[float, ...], rpy: tuple[float, ...]
) -> None:
    path = tmp_path_factory.mktemp("origin") / "scene.jsonc"
    numbers = [" ".join(map(repr, values)) for values in (xyz, rpy)]
    path.write_text(
        '{"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config": {"links": [{"name": "L"}]},'
        f'"origin": {{"xyz": "{numbers[0]}", "rpy-deg": "{numbers[1]}"}}}}]}}'
    )
    for exact in (False, True):
        world = read(path, exact=exact)
        found = world.get(world.find("R"), Transform)
        kind = np.float32 if exact else np.float64
        assert found.position.tolist() == np.array(xyz, kind).astype(float).tolist()
        if not exact or abs(abs(rpy[1]) - 90) > 0.2:
            expected = Rotation.from_euler("ZYX", rpy[::-1], degrees=True)
            angle = (Rotation.from_quat(found.orientation).inv() * expected).magnitude()
            assert angle < (1e-5 if exact else 1e-12)  # rad


def test_files_are_found_beside_the_scene_then_on_the_search_path(tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "r.jsonc").write_text('{"links": [{"name": "FromRobots"}]}')
    scene = tmp_path / "scenes" / "s.jsonc"
    scene.write_text('{"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config": "r.jsonc"}]}')
    with pytest.raises(SceneError, match=r"no file 'r.jsonc' in .*scenes"):
        read(scene)
    assert "R/FromRobots" in read(scene, search=[tmp_path / "robots"]).names
    (tmp_path / "scenes" / "r.jsonc").write_text('{"links": [{"name": "Beside"}]}')
    assert "R/Beside" in read(scene, search=[tmp_path / "robots"]).names


def test_a_robot_file_is_no_scene() -> None:
    with pytest.raises(
        SceneError, match="this is the configuration of a robot or actor; open the scene file"
    ):
        read(FOLDER / "robot_heron.jsonc")


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        (
            {"actors": [{"type": "robot", "name": "R", "robot-config": "x" * 5000}]},
            "actors[0].robot-config: no file 'xxx",
        ),
        (
            {
                "actors": [{"type": "robot", "name": "R", "robot-config": {"links": [{"name": "Nose"}]}}],
                "spawn-objects": {"sim-packaged": [{"name": "R/Nose", "asset-path": "x"}]},
            },
            "spawn-objects.sim-packaged[0].name: there is already a part of a robot named 'R/Nose'",
        ),
        (
            {"clock": {"type": "steppable", "step-ns": 2.0**70}},
            "clock.step-ns: expected a whole number of at most 64 bits",
        ),
    ],
)
def test_what_only_shows_beyond_the_file_is_an_error_with_its_place(
    tmp_path: Path, scene: dict[str, Any], message: str
) -> None:
    file = tmp_path / "s.jsonc"
    file.write_bytes(orjson.dumps({"id": "S", **scene}))
    with pytest.raises(SceneError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}:1:")
    assert message in str(refused.value)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    read(FOLDER / "drone.jsonc", progress=lambda *step: told.append(step))
    assert told == [
        ("reading actors", 0, 2),
        ("reading actors", 1, 2),
        ("making entities", 0, 24),
        ("", 1, 1),
    ]
