"""Project AirSim scenes: a corpus that uses every key, its broken twins, and poses against scipy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from diorama.ecs import Effector, Sensor, Transform, Velocity, World, difference, propagate
from diorama.ecs.motion import Landed, Spin, Trajectory
from diorama.formats.airsim import read
from diorama.formats.airsim.components import Actor, Actuator, Controller, Joint, Link
from diorama.formats.airsim.fields import Form
from diorama.formats.airsim.keys import ENV_OBJECT_CONFIG, SCENE
from diorama.formats.airsim.poses import ned_by_geocentric_latitude
from diorama.formats.airsim.robot import ENV_ACTOR_CONFIG, ROBOT
from diorama.formats.airsim.sensor_keys import SENSORS
from diorama.formats.jsonc import parse
from diorama.geo import Origin, ned_from_lla
from diorama.runtime.load import check, format_of, load, save
from diorama.schemas.errors import Problem, SceneError

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
PARTS = ("robot_", "actor_", "smoke")
SCENES = sorted(path for path in FOLDER.glob("*.jsonc") if not path.name.startswith(PARTS))
BROKEN = sorted(path for path in (FOLDER / "broken").glob("*.jsonc") if not path.name.startswith(PARTS))
POSE = 1e-12  # m, and quaternion components
HOME = Origin(47.641468, -122.140165, 122.0)


def settled(name: str, **options: Any) -> World:
    world = read(FOLDER / name, **options)
    propagate(world)
    return world


def place(world: World, name: str) -> Transform:
    return world.get(world.find(name), Transform)


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


def test_a_robot_becomes_a_tree_of_entities_with_the_right_places() -> None:
    world = settled("drone.jsonc")
    turned = Rotation.from_euler("ZYX", [90, 0, 0], degrees=True)
    spawn = np.array([109.05, -7.5, -19.42])
    expected = {
        "Heron1": (spawn, turned),
        "Heron1/Body": (spawn, turned),
        "Heron1/Body_L": (spawn, turned),
        "Heron1/Rotor_L": (
            spawn + turned.apply([0.2, -0.3, -0.1]),
            turned * Rotation.from_euler("ZYX", [30, 0, 0], degrees=True),
        ),
        "Heron1/Rotor_R": (spawn + turned.apply([0.2, 0.3, -0.1]), turned),
        "Heron1/Motor_L": (spawn + turned.apply([0.2, -0.3, -0.1]), turned),
        "Heron1/Nose": (
            spawn + turned.apply([0.5, 0, 0]),
            turned * Rotation.from_euler("ZYX", [0, -90, 0], degrees=True),
        ),
        "Heron1/Pilot": (spawn, turned),
        "Heron2/Body": (np.array([-3.0, 4.0, -5.0]), Rotation.identity()),
    }
    for name, (position, rotation) in expected.items():
        found = place(world, name)
        np.testing.assert_allclose(found.world_position, position, atol=POSE * 1000, err_msg=name)
        assert (Rotation.from_quat(found.world_orientation).inv() * rotation).magnitude() < POSE * 1000, name
    parents = {
        name: world.name(world.parent(world.find(name)) or 0)
        for name in ("Heron1/Body", "Heron1/Body_L", "Heron1/Rotor_L", "Heron1/Nose", "Heron1/Motor_L")
    }
    assert list(parents.values()) == ["Heron1", "Heron1/Body", "Heron1/Body_L", "Heron1/Body", "Heron1"]


def test_the_parts_of_a_robot_carry_their_settings() -> None:
    world = settled("drone.jsonc")

    def of(name: str, cls: type[Any]) -> Any:
        return world.get(world.find(name), cls)

    assert of("Heron1", Actor).settings == {"physics-type": "fast-physics", "start-landed": True}
    assert of("Heron1", Landed).weight == pytest.approx(1.5 * 9.80665)
    assert world.try_get(world.find("Heron2"), Landed) is None
    assert of("Heron1", Velocity).linear.tolist() == [0, 0, 0]
    assert of("Heron1/Body", Link).mass == 1.2
    assert of("Heron1/Body_L", Joint) == Joint(
        "fixed", {"parent-link": "Body", "child-link": "Rotor_L", "axis": [0.0, 0.0, 1.0]}
    )
    assert of("Heron1/Motor_L", Effector) == Effector("Motor_L", "Rotor_L")
    motor = of("Heron1/Motor_L", Actuator)
    assert (motor.type, motor.enabled, motor.link) == ("rotor", True, "Rotor_L")
    assert motor.settings["max-rpm"] == 6000
    assert of("Heron1/Rotor_L", Spin).axis == (0, 0, -1)  # counter-clockwise seen from above is about up
    assert of("Heron1/Rotor_R", Spin).axis == (0, 0, 1)
    assert of("Heron1/Nose", Sensor).type == "camera"
    assert of("Heron1/Pilot", Controller).type == "simple-flight-api"
    assert world.asset(world.find("Heron1/Rotor_L")) == "/Birds/Rotor"


def test_sensors_of_every_type_keep_their_parameters() -> None:
    world = settled("sensors.jsonc")
    sensors = {sensor.type: (entity, sensor) for entity, sensor in world.query(Sensor)}
    assert set(sensors) == set(SENSORS)
    assert sensors["camera"][1].parameters["capture-settings"][0]["width"] == 640
    assert sensors["airspeed"][1].parameters["forward-xyz"] == [1.0, 0.0, 0.0]
    # The mast is scaled by two, and so is what hangs on it; without origin these two stand 1 m above their link.
    assert place(world, "Lab/Cloud").world_position.tolist() == [0, 0, -4]
    assert place(world, "Lab/Ranger").world_position.tolist() == [0, 0, -4]
    assert place(world, "Lab/Eye").world_position.tolist() == [2, 0, -2]


def test_joint_and_link_offsets_add_up_along_a_chain() -> None:
    world = settled("links.jsonc")
    assert place(world, "Glider/Wing").world_position.tolist() == [0, 2, -100]
    assert place(world, "Glider/Tip").world_position.tolist() == [0, 4, -100]
    assert place(world, "Glider/Tip").world_scale.tolist() == [2, 2, 2]
    world = settled("actuators.jsonc")
    np.testing.assert_allclose(place(world, "Tilter/Disc").world_position, [1, 0, 0], atol=POSE)


def test_configs_in_a_list_are_laid_over_each_other() -> None:
    world = settled("overlay.jsonc")
    assert world.get(world.find("Heavy/Body"), Link).mass == 40
    assert world.asset(world.find("Heavy/Body")) == "/Birds/HeronBody"
    assert world.get(world.find("Heavy"), Actor).settings["physics-type"] == "non-physics"
    assert world.parent(world.find("Heavy/Ballast")) == world.find("Heavy/Body_B")


def test_environment_actors_follow_their_script_from_where_they_stand() -> None:
    world = settled("environment.jsonc")
    path = world.get(world.find("Kite"), Trajectory)
    assert path.times == (0, 1, 2, 4)
    assert path.positions == ((0, 0, -10), (10, 0, -10), (20, 0, -10), (20, 20, -10))
    assert path.loop
    assert path.name == "Eight"
    np.testing.assert_allclose(path.orientations[3], (0, 0, np.sqrt(0.5), np.sqrt(0.5)), atol=POSE)
    fan = world.find("Kite/Fan")
    assert world.get(fan, Spin).speed == pytest.approx(4 * np.pi)
    for part in ("Kite/Shroud", "Kite/Fan"):  # a quarter turn about y, once
        turned = place(world, part).world_orientation
        np.testing.assert_allclose(turned, (0, np.sqrt(0.5), 0, np.sqrt(0.5)), atol=POSE)
    assert path.loop_from == 1
    assert world.asset(world.find("Smoke")) == "/Effects/Smoke"
    link = world.get(world.find("Taxi/Chassis"), Link)
    assert link.settings["visual"]["material"]["color"] == [1.0, 0.9, 0.0, 1.0]
    assert world.asset(world.find("Taxi/Chassis")) == "/Car/Chassis"


def test_a_link_turns_with_its_parent_link_also_when_a_joint_holds_it_to_another(tmp_path: Path) -> None:
    turning = {"axis": "0 1 0", "initial-angle": 90, "parent-link": "Frame"}
    origin = {"xyz": "1 0 0", "rpy-deg": "0 0 90"}
    prop = {"name": "Prop", "axis": "0 0 1", "parent-link": "Shroud", "visual": {"origin": origin}}
    config = {
        "links": [{"name": "Frame"}, {"name": "Shroud", **turning}, prop],
        "joints": [
            {"id": name, "type": "fixed", "parent-link": "Frame", "child-link": name[2:], "axis": "0 0 1"}
            for name in ("F_Shroud", "F_Prop")
        ],
    }
    file = tmp_path / "s.jsonc"
    actor = {"type": "env_actor", "name": "A", "env-actor-config": config}
    file.write_bytes(orjson.dumps({"id": "S", "environment-actors": [actor]}))
    world = read(file)
    propagate(world)
    expected = Rotation.from_euler("Y", 90, degrees=True) * Rotation.from_euler("Z", 90, degrees=True)
    found = Rotation.from_quat(place(world, "A/Prop").world_orientation)
    assert (found.inv() * expected).magnitude() < POSE
    np.testing.assert_allclose(place(world, "A/Prop").world_position, (1, 0, 0), atol=POSE)


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


def test_a_link_and_a_sensor_of_one_name_get_two_entities(tmp_path: Path) -> None:
    scene = tmp_path / "s.jsonc"
    scene.write_text(
        '{"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config":'
        '{"links": [{"name": "Nose"}], "sensors": [{"id": "Nose", "type": "gps", "parent-link": "Nose"}]}}]}'
    )
    assert {"R/Nose", "R/sensors/Nose"} < set(read(scene).names)


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


def test_configs_whose_unknown_parts_have_odd_names_are_laid_over_each_other(tmp_path: Path) -> None:
    config = {"links": [{"name": "Nose"}], "later": [{"name": [1]}, {"name": "a", "x": 1}]}
    over = {"links": [], "later": [{"name": [1]}, {"name": "a", "y": 2}]}
    file = tmp_path / "s.jsonc"
    file.write_bytes(
        orjson.dumps({"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config": [config, over]}]})
    )
    world = read(file)
    settings = world.get(world.find("R"), Actor).settings
    assert settings["later"] == [{"name": [1]}, {"name": "a", "x": 1, "y": 2}, {"name": [1]}]


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    read(FOLDER / "drone.jsonc", progress=lambda *step: told.append(step))
    assert told == [
        ("reading actors", 0, 2),
        ("reading actors", 1, 2),
        ("making entities", 0, 24),
        ("", 1, 1),
    ]


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
