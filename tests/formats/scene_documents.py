"""Scene documents for tests: the example of the scene graph reference, pieces of others, what is wrong with one."""

from copy import deepcopy
from typing import Any

import orjson
import pytest

from diorama.formats.aerosim import parse
from diorama.schemas.errors import SceneError

ORIGIN = {"latitude": 29.594656, "longitude": -95.16384722, "altitude": -28.3}
_EVTOL = "generic-aircrafts/GenericEVtol/GenericEVTOL"


def transform(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> dict[str, Any]:
    """A `transform` at a position."""
    return {
        "position": {"x": x, "y": y, "z": z},
        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        "scale": {"x": 1.0, "y": 1.0, "z": 1.0},
    }


def actor(document: dict[str, Any], key: str, name: str = "", *, asset: str = "", parent: str = "") -> None:
    """Add an entity with a name and a pose to a document."""
    document["entities"][key] = ["actor_properties", "actor_state"]
    properties = {"actor_name": name, "actor_asset": asset, "parent": parent}
    document["components"]["actor_properties"][key] = properties
    document["components"]["actor_state"][key] = {"pose": {"transform": transform()}}


def example() -> dict[str, Any]:
    """Two aircraft, a rotor and a camera; the first states its coordinates, with an ECEF of zeros."""
    document: dict[str, Any] = {
        "entities": {},
        "components": {"actor_properties": {}, "actor_state": {}, "effectors": {}, "sensor": {}},
    }
    actor(document, "entity_0", "generic_evtol_0", asset=_EVTOL)
    actor(document, "entity_1", "generic_evtol_1", asset=_EVTOL)
    actor(document, "entity_2", "rgb_camera_0", asset="Sensors/Cameras/RGBCamera", parent="entity_1")
    document["entities"]["entity_0"].append("effectors")
    document["entities"]["entity_2"].append("sensor")
    components = document["components"]
    components["actor_state"]["entity_0"]["world_coordinate"] = {
        "ned": {"north": 0.0, "east": 0.0, "down": 0.0},
        "lla": dict(ORIGIN),
        "ecef": {"x": 0.0, "y": 0.0, "z": 0.0},
        "cartesian": {"x": 0.0, "y": 0.0, "z": 0.0},
        "origin_lla": dict(ORIGIN),
        "ellipsoid": {
            "equatorial_radius": 6378137.0,
            "flattening_factor": 0.0033528106647474805,
            "polar_radius": 6356752.314245179,
        },
    }
    components["effectors"]["entity_0"] = [
        {
            "id": "rotor_blade_01",
            "usd_relative_path": "evtol/VTOLGeneric_Armature/rotor_blade_01",
            "pose": {"transform": transform(3.0643, 3.147, 1.8735)},
        }
    ]
    components["sensor"]["entity_2"] = {
        "sensor_name": "rgb_camera_0",
        "sensor_type": "rgb_camera",
        "sensor_parameters": {
            "resolution": {"x": 1920, "y": 1080},
            "tick_rate": 0.2,
            "fov": 90,
            "near_clip": 0.1,
            "far_clip": 1000.0,
        },
    }
    return deepcopy(document)


def problems_of(value: Any) -> list[str]:
    """What reading a document says is wrong with it; fails when nothing is."""
    data = value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_INDENT_2)
    with pytest.raises(SceneError) as caught:
        parse(data, "scene.json")
    return [str(problem) for problem in caught.value.problems]
