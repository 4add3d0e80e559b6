"""One scene in every format must become one world."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from pyproj import Transformer

from diorama.ecs import Effector, Sensor, Transform, World, locate
from diorama.formats import aerosim, aerosim_config, rscene
from diorama.geo import Origin

SCENES = Path(__file__).parent.parent / "scenes"
POSE_TOLERANCE_M = 1e-12
# PROJ's own precision at this height; the golden numbers come from its topocentric pipeline.
PROJ_TOLERANCE_M = 2e-6
# Metres north, east, down of the origin, worked out by hand: nose to the east, so forward is east and right is south.
PLACES = {
    "evtol_0": (120.0, -40.0, -60.0),
    "evtol_0/rotor_left": (123.5, -37.0, -62.0),
    "evtol_0/rotor_right": (116.5, -37.0, -62.0),
    "camera_0": (120.0, -38.0, -59.5),
    "evtol_1": (0.0, 0.0, 0.0),
}


def read(name: str) -> World:
    if name.endswith(".rscene"):
        return rscene.read(SCENES / name)
    if "sim_config" in name:
        return aerosim_config.read(SCENES / name, warnings=[])
    return aerosim.read(SCENES / name, warnings=[], profile="aerosim" if "aerosim" in name else None)


@pytest.mark.parametrize(
    "name", ["houston.scene.json", "houston.aerosim.json", "houston.sim_config.json", "houston.rscene"]
)
def test_the_golden_scene(name: str) -> None:
    world = read(name)
    assert world.origin == Origin(29.594656, -95.16384722, -28.3)
    assert set(world.names) == set(PLACES)
    for entity, place in PLACES.items():
        transform = world.get(world.find(entity), Transform)
        assert transform.world_position == pytest.approx(place, abs=POSE_TOLERANCE_M)
    evtol, camera = world.find("evtol_0"), world.find("camera_0")
    assert world.parent(camera) == evtol == world.parent(world.find("evtol_0/rotor_left"))
    assert world.parent(evtol) is None
    assert world.asset(evtol) == "generic-aircrafts/GenericEVtol/GenericEVTOL"
    assert world.get(world.find("evtol_0/rotor_left"), Effector).path == "evtol/armature/rotor_left"
    half = np.sqrt(0.5)
    assert world.get(evtol, Transform).orientation == pytest.approx((0, 0, half, half), abs=1e-15)
    down_30 = (0.0, -np.sin(np.radians(15)), 0.0, np.cos(np.radians(15)))
    assert world.get(camera, Transform).orientation == pytest.approx(down_30, abs=1e-15)
    assert world.get(camera, Sensor).type == "rgb_camera"
    assert world.get(camera, Sensor).parameters["resolution"] == {"x": 1920, "y": 1080}
    assert world.resource("weather") == {"preset": "Cloudy"}


def test_the_golden_scene_is_on_earth_where_proj_puts_it() -> None:
    world = read("houston.scene.json")
    names = list(PLACES)
    found = locate(world, world.rows([world.find(name) for name in names]))
    pipeline = Transformer.from_pipeline(
        "+proj=pipeline +step +inv +proj=topocentric +ellps=WGS84 "
        "+lat_0=29.594656 +lon_0=-95.16384722 +h_0=-28.3"
    )
    north, east, down = np.array([PLACES[name] for name in names]).T
    ecef = np.stack(pipeline.transform(east, north, -down), axis=1)
    assert np.abs(found.ecef - ecef).max() < PROJ_TOLERANCE_M


@pytest.mark.parametrize(
    ("name", "profile"), [("houston.scene.json", None), ("houston.aerosim.json", "aerosim")]
)
def test_what_we_write_does_not_change_unnoticed(name: str, profile: str | None, tmp_path: Path) -> None:
    aerosim.write(read("houston.scene.json"), tmp_path / name, profile=profile)
    written, golden = ((folder / name).read_bytes() for folder in (tmp_path, SCENES))
    assert written.splitlines()[:60] == golden.splitlines()[:60]
    assert _rounded(orjson.loads(written)) == _rounded(orjson.loads(golden))


def _rounded(value: object) -> object:
    """Numbers to a nanometre, so that the last digit of somebody's libm does not matter."""
    if isinstance(value, float):
        return round(value, 9) + 0.0 if abs(value) < 1e6 else round(value, 7)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value
