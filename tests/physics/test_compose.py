"""Composing: names, order, options, actuators and keyframes."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from diorama.physics import (
    ActuatorCfg,
    ArticulationCfg,
    EntityCfg,
    InitialStateCfg,
    Scene,
    SceneCfg,
    TerrainEntityCfg,
)
from diorama.tests.physics.models import (
    add_gantry,
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
