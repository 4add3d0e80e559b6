"""Composing: names, order, options, keyframes, and what is said when it cannot be done."""

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
    TerrainEntityCfg,
)
from diorama.schemas.errors import SceneError
from diorama.tests.physics.models import (
    arm,
    cube,
    gymnasium_model,
    hand,
    mujoco_testdata,
    textured_cubes,
    walker,
)

GYMNASIUM = [
    "ant",
    "half_cheetah",
    "hopper",
    "humanoid",
    "humanoidstandup",
    "inverted_double_pendulum",
    "inverted_pendulum",
    "pusher",
    "reacher",
    "swimmer",
    "walker2d",
]


def names_of(model: Any, kind: int, count: int) -> list[str]:
    return [mujoco.mj_id2name(model, kind, index) or "" for index in range(count)]


def bodies_of(model: Any) -> list[str]:
    return names_of(model, mujoco.mjtObj.mjOBJ_BODY, model.nbody)


def add_gantry(spec: Any) -> None:
    spec.worldbody.add_site(name="gantry", pos=(0, 0, 2))
    for side in ("left", "right"):
        tendon = spec.add_tendon(name=f"{side}_rope", limited=True, range=(0, 1))
        tendon.wrap_site("gantry")
        tendon.wrap_site(f"robot/{side}_hook")
    spec.add_sensor(
        name="rope_length",
        type=mujoco.mjtSensor.mjSENS_TENDONPOS,
        objtype=mujoco.mjtObj.mjOBJ_TENDON,
        objname="left_rope",
    )


def test_two_robots_terrain_and_a_gantry() -> None:
    cfg = SceneCfg(
        terrain=TerrainEntityCfg(),
        entities={"robot": EntityCfg(spec_fn=walker), "second": EntityCfg(spec_fn=walker)},
        spec_fn=add_gantry,
    )
    model = Scene(cfg).compile()
    assert bodies_of(model) == [
        "world",
        "terrain",
        "robot/trunk",
        "robot/left_leg",
        "robot/right_leg",
        "second/trunk",
        "second/left_leg",
        "second/right_leg",
    ]
    assert names_of(model, mujoco.mjtObj.mjOBJ_TENDON, model.ntendon) == ["left_rope", "right_rope"]
    assert model.geom("terrain").type[0] == mujoco.mjtGeom.mjGEOM_PLANE
    assert model.actuator("second/left_hip").trnid[0] == model.joint("second/left_hip").id
    assert model.opt.timestep == 0.004


def test_two_third_party_robots_with_their_own_names() -> None:
    cfg = SceneCfg(
        entities={
            "ant": EntityCfg(file=gymnasium_model("ant")),
            "runner": EntityCfg(file=gymnasium_model("humanoid")),
        },
        option={"solver": "newton", "iterations": 50},
    )
    model = Scene(cfg).compile()
    assert model.body("ant/torso").id != model.body("runner/torso").id
    assert model.opt.timestep == 0.003  # the smaller of the two
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4


@pytest.mark.parametrize("name", GYMNASIUM)
def test_every_gymnasium_robot_becomes_an_entity_like_the_file_alone(name: str) -> None:
    alone = mujoco.MjModel.from_xml_path(str(gymnasium_model(name)))
    model = Scene(SceneCfg(entities={"it": EntityCfg(file=gymnasium_model(name))})).compile()
    for size in ("nbody", "nq", "nv", "nu", "ngeom", "nsensor"):
        assert getattr(model, size) == getattr(alone, size)
    np.testing.assert_array_equal(model.body_mass, alone.body_mass)
    assert model.opt.timestep == alone.opt.timestep


def test_mujocos_own_test_model_with_ball_joints_tendons_and_unnamed_everything() -> None:
    path = mujoco_testdata() / "model.xml"
    alone = mujoco.MjModel.from_xml_path(str(path))
    scene = Scene(SceneCfg(entities={"it": EntityCfg(file=path)}))
    model = scene.compile()
    np.testing.assert_array_equal(model.key_qpos[0], alone.key_qpos[0])
    np.testing.assert_array_equal(model.key_qvel[0], alone.key_qvel[0])
    assert (model.nq, model.nu, model.nsensor, model.ntendon) == (49, 10, 11, 2)
    assert all(names_of(model, mujoco.mjtObj.mjOBJ_SENSOR, model.nsensor))
    assert model.opt.density == 1.225
    scene.initialize()
    assert len(scene.sensors) == 11


def test_unnamed_elements_get_names_that_collide_with_none() -> None:
    def spec() -> Any:
        made = mujoco.MjSpec()
        body = made.worldbody.add_body(name="body_2")
        body.add_geom(size=[0.1, 0, 0])
        child = body.add_body()
        child.add_geom(size=[0.1, 0, 0])
        child.add_joint()
        return made

    model = Scene(SceneCfg(entities={"x": EntityCfg(spec_fn=spec)})).compile()
    assert bodies_of(model) == ["world", "x/body_2", "x/body_2_"]
    assert model.joint("x/joint_0").id == 0


def test_the_users_spec_is_left_alone_and_may_be_used_twice() -> None:
    shared = walker()
    cfg = SceneCfg(entities={name: EntityCfg(spec_fn=lambda: shared) for name in ("a", "b")})
    assert Scene(cfg).compile().nbody == 7
    assert [body.name for body in shared.bodies][1] == "trunk"
    assert len(shared.keys) == 2


def test_names_with_slashes_keep_them() -> None:
    def spec() -> Any:
        made = mujoco.MjSpec()
        for side in ("left", "right"):
            made.attach(arm(), prefix=f"{side}/", frame=made.worldbody.add_frame())
        return made

    scene = Scene(SceneCfg(entities={"robot": EntityCfg(spec_fn=spec)})).initialize()
    assert scene.entities["robot"].joint_names[:1] == ["left/shoulder"]
    assert len(set(scene.entities["robot"].joint_names)) == 4


def test_keyframes_are_merged_by_address() -> None:
    cfg = SceneCfg(
        entities={
            "cube": EntityCfg(spec_fn=cube),
            "robot": EntityCfg(spec_fn=walker),
            "other": EntityCfg(
                spec_fn=walker,
                init_state=InitialStateCfg(
                    pos=(1, 2, 3), joint_pos={".*": 0.3, "right_.*": 0.7}, joint_vel={"left_hip": 2.0}
                ),
            ),
        }
    )
    model = Scene(cfg).compile()
    key = model.key("init_state")
    assert key.id == 0
    stand = [0, 0, 0.34, 1, 0, 0, 0, 0.1, -0.1]
    np.testing.assert_allclose(key.qpos[7:16], stand)
    np.testing.assert_allclose(key.qpos[16:], [1, 2, 3, 1, 0, 0, 0, 0.3, 0.7])
    np.testing.assert_allclose(key.qvel[-2:], [2.0, 0.0])
    np.testing.assert_allclose(key.ctrl, [0.1, -0.1, 0.1, -0.1])
    crouch = model.key("robot/crouch")
    np.testing.assert_allclose(crouch.qpos[14:16], [0.5, -0.5])
    np.testing.assert_allclose(crouch.qpos[16:19], [1, 2, 3])


def test_actuators_are_added_by_expression() -> None:
    joints = ArticulationCfg(
        actuators=(
            ActuatorCfg(
                target_names_expr=("joint_.*",), stiffness=20, damping=2, effort_limit=5, armature=0.01
            ),
        )
    )
    model = Scene(SceneCfg(entities={"arm": EntityCfg(spec_fn=arm, articulation=joints)})).compile()
    actuator = model.actuator("arm/joint_1")
    np.testing.assert_allclose(actuator.gainprm[0], 20)
    np.testing.assert_allclose(actuator.biasprm[:3], [0, -20, -2])
    np.testing.assert_allclose(actuator.forcerange, [-5, 5])
    assert model.dof_armature[model.joint("arm/joint_1").dofadr[0]] == 0.01


def test_every_kind_of_actuator_and_joint_setting() -> None:
    joints = ArticulationCfg(
        actuators=(
            ActuatorCfg(target_names_expr=("left_hip",), kind="velocity", damping=3, frictionloss=0.2),
            ActuatorCfg(target_names_expr=("right_hip",), kind="motor"),
        )
    )

    def bare() -> Any:
        spec = walker()
        for actuator in list(spec.actuators):
            spec.delete(actuator)
        for key in list(spec.keys):
            key.ctrl = []
        return spec

    model = Scene(SceneCfg(entities={"it": EntityCfg(spec_fn=bare, articulation=joints)})).compile()
    np.testing.assert_allclose(model.actuator("it/left_hip").biasprm[:3], [0, 0, -3])
    np.testing.assert_allclose(model.actuator("it/right_hip").gainprm[0], 1)
    assert model.actuator("it/right_hip").biastype[0] == mujoco.mjtBias.mjBIAS_NONE
    assert model.dof_frictionloss[model.joint("it/left_hip").dofadr[0]] == 0.2


def test_added_actuators_are_no_part_of_the_files_keyframe() -> None:
    def half() -> Any:
        spec = walker()
        spec.delete(spec.actuators[1])
        for key in spec.keys:
            key.ctrl = [0.25]
        return spec

    joints = ArticulationCfg(actuators=(ActuatorCfg(target_names_expr=("right_hip",), stiffness=9),))
    model = Scene(SceneCfg(entities={"it": EntityCfg(spec_fn=half, articulation=joints)})).compile()
    np.testing.assert_allclose(model.key("init_state").ctrl, [0.25, 0.0])


def test_flags_of_all_entities_and_memory_add_up() -> None:
    def flagged(flag: int, memory: int) -> Any:
        spec = cube()
        spec.option.disableflags = flag
        spec.memory = memory
        return spec

    entities = {
        "a": EntityCfg(spec_fn=lambda: flagged(int(mujoco.mjtDisableBit.mjDSBL_GRAVITY), 1 << 20)),
        "b": EntityCfg(spec_fn=lambda: flagged(int(mujoco.mjtDisableBit.mjDSBL_CONTACT), 2 << 20)),
    }
    model = Scene(SceneCfg(entities=entities)).compile()
    assert model.opt.disableflags == mujoco.mjtDisableBit.mjDSBL_GRAVITY | mujoco.mjtDisableBit.mjDSBL_CONTACT
    assert model.narena == 3 << 20
    mixed = {"a": entities["a"], "b": EntityCfg(spec_fn=cube)}
    assert Scene(SceneCfg(entities=mixed)).compile().narena > 3 << 20


def test_fixed_base_and_mocap_start_where_they_are_told() -> None:
    half = np.sqrt(0.5)
    state = InitialStateCfg(pos=(1, 0, 2), rot=(half, 0, 0, half))
    entities = {
        "arm": EntityCfg(spec_fn=arm, init_state=state),
        "hand": EntityCfg(spec_fn=hand, init_state=state),
    }
    scene = Scene(SceneCfg(entities=entities)).initialize()
    for name in entities:
        np.testing.assert_allclose(
            scene.entities[name].data.root_link_pose_w[0], [1, 0, 2, half, 0, 0, half], atol=1e-15
        )


def test_files_with_meshes_textures_and_height_fields(tmp_path: Path) -> None:
    model = Scene(SceneCfg(entities={"it": EntityCfg(file=textured_cubes(tmp_path))})).compile()
    assert (model.nmesh, model.ntex, model.nhfield) == (4, 1, 1)
    assert model.mesh("it/another_cube").vertnum[0] == 8


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
