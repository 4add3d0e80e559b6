"""What is said of a scene that cannot be composed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from diorama.physics import (
    ActuatorCfg,
    ArticulationCfg,
    BuiltinSensorCfg,
    ContactMatch,
    ContactSensorCfg,
    EntityCfg,
    InitialStateCfg,
    ObjRef,
    RayCastSensorCfg,
    Scene,
    SceneCfg,
)
from diorama.schemas.errors import SceneError
from diorama.tests.physics.models import arm, cube, gymnasium_model, textured_cubes, walker


def refused(cfg: SceneCfg) -> str:
    with pytest.raises(SceneError) as caught:
        Scene(cfg).compile()
    return str(caught.value)


def broken(xml: str) -> SceneCfg:
    return SceneCfg(
        entities={
            "fine": EntityCfg(spec_fn=cube),
            "robot": EntityCfg(spec_fn=lambda: mujoco.MjSpec.from_string(xml)),
        }
    )


def test_a_model_that_does_not_compile_names_its_entity_and_quotes_mujoco() -> None:
    massless = "<mujoco><worldbody><body name='x'><joint/></body></worldbody></mujoco>"
    said = refused(broken(massless))
    assert said.startswith("entity 'robot': MuJoCo says: Error: mass and inertia of moving bodies")
    nowhere = """<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>
                 <actuator><motor joint='nowhere'/></actuator></mujoco>"""
    assert "entity 'robot': MuJoCo says:" in refused(broken(nowhere))


def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.xml"
    file.write_text("<mujoco>\n<worldbody>\n<body><geom size='x'/></body></worldbody></mujoco>")
    said = refused(SceneCfg(entities={"robot": EntityCfg(file=file)}))
    assert said.startswith(
        f"{file}:3: entity 'robot': MuJoCo says: XML Error: bad format in attribute 'size'"
    )
    missing = refused(SceneCfg(entities={"robot": EntityCfg(file=tmp_path / "none.xml")}))
    assert "none.xml: entity 'robot': cannot be read: no such file" in missing


def test_missing_meshes_are_all_named(tmp_path: Path) -> None:
    file = textured_cubes(tmp_path)
    for name in ("cube.stl", "cube.msh"):
        (file.parent / "meshes" / name).unlink()
    said = refused(SceneCfg(entities={"robot": EntityCfg(file=file)}))
    assert "cube.stl: entity 'robot': asset cannot be read" in said
    assert "cube.msh: entity 'robot': asset cannot be read" in said


def test_names_that_cannot_be_are_reported_together() -> None:
    cfg = SceneCfg(
        num_envs=0,
        entities={
            "terrain": EntityCfg(spec_fn=cube),
            "a/b": EntityCfg(spec_fn=cube),
            "cube": EntityCfg(spec_fn=cube),
        },
        sensors=(RayCastSensorCfg(name="cube", frame=ObjRef(type="body", name="cube", entity="cube")),),
    )
    said = refused(cfg).splitlines()
    assert said == [
        "num_envs: expected at least one environment, got 0",
        "entity 'terrain': 'terrain' is the name of the ground; choose another",
        "entity 'a/b': a name must not be empty nor contain '/'",
        "sensor 'cube': the name is already taken; choose another",
    ]


ON_CUBE = ContactMatch(mode="body", pattern="cube", entity="cube")
WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"init_state": InitialStateCfg(rot=(0, 0, 0, 0))},
        "init_state.rot: expected a quaternion w, x, y, z that",
    ),
    ({"init_state": InitialStateCfg(pos=(0, 0))}, "init_state.pos: expected 3 finite numbers, got (0, 0)"),  # type: ignore[arg-type]
    (
        {"init_state": InitialStateCfg(lin_vel=(0, 0, np.inf))},
        "init_state.lin_vel: expected 3 finite numbers",
    ),
    (
        {"articulation": ArticulationCfg(actuators=(ActuatorCfg(kind="positon"),))},  # type: ignore[arg-type]
        "actuators: expected kind to be one of position, velocity, motor, got 'positon'; did you mean 'position'?",
    ),
    (
        {"articulation": ArticulationCfg(actuators=(ActuatorCfg(target_names_expr=("(",)),))},
        "actuators: expected a regular expression, got '(': missing )",
    ),
]
WRONG_SCENES: list[tuple[dict[str, Any], str]] = [
    ({"option": {"timestep": 0.0}}, "option 'timestep': expected a number above 0, got 0.0"),
    ({"option": {"timestep": np.nan}}, "option 'timestep': expected a number above 0, got nan"),
    (
        {"option": {"gravity": (0, 0)}},
        "option 'gravity': expected a value such as [ 0.    0.   -9.81], got (0, 0)",
    ),
    (
        {"sensors": (ContactSensorCfg(name="c", primary=ON_CUBE, reduce="max"),)},  # type: ignore[arg-type]
        "sensor 'c': expected reduce to be one of none, mindist, maxforce, netforce, got 'max'; did you mean",
    ),
    (
        {"sensors": (ContactSensorCfg(name="c", primary=replace(ON_CUBE, mode="bod")),)},  # type: ignore[arg-type]
        "sensor 'c': expected mode to be one of geom, body, subtree, got 'bod'",
    ),
    (
        {"sensors": (RayCastSensorCfg(name="r", frame=ObjRef(type="joint", name="joint_0", entity="cube")),)},
        "sensor 'r': expected a frame of type body or xbody or site or geom, got 'joint'",
    ),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_a_wrong_setting_of_an_entity_is_refused_by_its_name(settings: dict[str, Any], message: str) -> None:
    said = refused(SceneCfg(entities={"cube": EntityCfg(spec_fn=cube, **settings)}))
    assert said.startswith(f"entity 'cube': {message}")


@pytest.mark.parametrize(("settings", "message"), WRONG_SCENES)
def test_a_wrong_setting_of_a_scene_is_refused_by_its_name(settings: dict[str, Any], message: str) -> None:
    assert refused(SceneCfg(entities={"cube": EntityCfg(spec_fn=cube)}, **settings)).startswith(message)


def test_colliding_names_from_spec_fn_are_mujocos_to_refuse() -> None:
    def twice(spec: Any) -> None:
        spec.worldbody.add_body(name="cube/cube")

    said = refused(SceneCfg(entities={"cube": EntityCfg(spec_fn=cube)}, spec_fn=twice))
    assert said == "spec_fn: MuJoCo says: Error: repeated name 'cube/cube' in body"


def test_what_only_the_whole_cannot_do_is_said_of_the_whole() -> None:
    def massless(spec: Any) -> None:
        spec.worldbody.add_body(name="ghost").add_joint()

    def spoil(spec: Any) -> None:
        spec.body("cube/cube").add_body(name="cube/tail").add_joint()

    cfg = SceneCfg(entities={"cube": EntityCfg(spec_fn=cube)}, spec_fn=massless, extent=7.0)
    assert refused(cfg).startswith("composed scene (entities: cube): MuJoCo says: Error: mass and inertia")
    cfg = SceneCfg(entities={"cube": EntityCfg(spec_fn=cube)}, spec_fn=spoil)
    assert refused(cfg).startswith("entity 'cube': MuJoCo says: Error: mass and inertia")


def test_a_users_own_error_in_spec_fn_stays_his() -> None:
    def wrong(spec: Any) -> None:
        raise ValueError("I did this")

    with pytest.raises(ValueError, match="I did this"):
        Scene(SceneCfg(spec_fn=wrong))


@pytest.mark.parametrize(
    ("cfg", "message"),
    [
        (SceneCfg(entities={"x": EntityCfg()}), "entity 'x': expected either spec_fn or file, got neither"),
        (
            SceneCfg(entities={"x": EntityCfg(spec_fn=lambda: 3)}),
            "expected spec_fn to return an MjSpec, got int",
        ),
        (
            SceneCfg(option={"timestp": 1}),
            "option 'timestp': MuJoCo has no such option; did you mean 'timestep'?",
        ),
        (SceneCfg(option={"integrator": "magic"}), "option 'integrator': MuJoCo knows no 'magic'"),
        (
            SceneCfg(
                entities={
                    "a": EntityCfg(file=gymnasium_model("humanoid")),
                    "b": EntityCfg(file=gymnasium_model("pusher")),
                }
            ),
            "option 'iterations': a wants 50, b wants 20",
        ),
        (
            SceneCfg(
                entities={
                    "r": EntityCfg(spec_fn=walker, init_state=InitialStateCfg(joint_pos={"left_hp": 1.0}))
                }
            ),
            "entity 'r': init_state.joint_pos: nothing matches 'left_hp'; did you mean 'left_hip'?",
        ),
        (
            SceneCfg(
                entities={
                    "r": EntityCfg(
                        spec_fn=arm, init_state=InitialStateCfg(joint_pos={"shoulder": (1.0, 2.0)})
                    )
                }
            ),
            "'shoulder': expected 4 numbers, got 2",
        ),
        (
            SceneCfg(
                entities={"r": EntityCfg(spec_fn=walker)},
                sensors=(
                    BuiltinSensorCfg(
                        name="s", sensor_type="gyro", obj=ObjRef(type="site", name="imo", entity="r")
                    ),
                ),
            ),
            "sensor 'r/s': no site is named 'r/imo'; did you mean 'r/imu'?",
        ),
        (
            SceneCfg(
                entities={"r": EntityCfg(spec_fn=walker)},
                sensors=(BuiltinSensorCfg(name="s", sensor_type="gyroscope"),),
            ),
            "MuJoCo has no sensor type 'gyroscope'; did you mean 'gyro'?",
        ),
        (
            SceneCfg(
                entities={"r": EntityCfg(spec_fn=walker)},
                sensors=(
                    ContactSensorCfg(name="s", primary=ContactMatch(mode="geom", pattern="toe", entity="r")),
                ),
            ),
            "sensor 's': no geom of 'r' matches 'toe' (known: r/trunk, r/left_foot, r/right_foot)",
        ),
    ],
)
def test_mistakes_are_explained(cfg: SceneCfg, message: str) -> None:
    assert message in refused(cfg)
