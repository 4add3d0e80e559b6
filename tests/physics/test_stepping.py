"""Stepping: the same bits as a loop over MjData, for any number of threads; divergence is never silent."""

import logging
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from diorama.physics import EntityCfg, InitialStateCfg, Scene, SceneCfg, TerrainEntityCfg
from diorama.tests.physics.models import gymnasium_model, mujoco_testdata, walker

ENVS, STEPS = 7, 40
MODELS: dict[str, EntityCfg] = {
    "ours": EntityCfg(spec_fn=walker),
    "mujoco": EntityCfg(file=mujoco_testdata() / "model.xml"),
    "ant": EntityCfg(file=gymnasium_model("ant")),
    "humanoid": EntityCfg(file=gymnasium_model("humanoid")),
}


def scene_of(model: str) -> Scene:
    return Scene(SceneCfg(num_envs=ENVS, terrain=TerrainEntityCfg(), entities={"it": MODELS[model]}))


def actions(model: Any) -> NDArray[np.float64]:
    return np.random.default_rng(3).uniform(-0.4, 0.4, (STEPS, ENVS, model.nu))


def run(model: str, nthread: int, reading: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """State and body positions of all environments after every step."""
    scene = scene_of(model).initialize(nthread)
    states, poses = [], []
    for ctrl in actions(scene.model):
        scene.ctrl[:] = ctrl
        scene.step()
        if reading:
            # Reading, even what has to be computed first, must not change what happens.
            scene.entities["it"].data.body_link_vel_w.sum()
            scene.simulation.refresh_all()
            scene.simulation.written(np.array([1, 4]))
            scene.entities["it"].data.joint_acc.sum()
        states.append(scene.simulation.batch.state.copy())
        poses.append(scene.simulation.derived("xpos").copy())
    return np.array(states), np.array(poses)


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_is_bit_identical_to_a_loop_over_mjdata(model: str) -> None:
    compiled = scene_of(model).compile()
    states, poses = run(model, nthread=2)
    assert np.isfinite(states).all()
    for env in range(ENVS):
        data = mujoco.MjData(compiled)
        mujoco.mj_resetDataKeyframe(compiled, data, 0)
        row = np.empty(states.shape[-1])
        for step, ctrl in enumerate(actions(compiled)):
            data.ctrl[:] = ctrl[env]
            mujoco.mj_step(compiled, data)
            mujoco.mj_getState(compiled, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
            np.testing.assert_array_equal(states[step, env], row)
            if compiled.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
                mujoco.mj_kinematics(compiled, data)
            np.testing.assert_array_equal(poses[step, env], data.xpos)


@pytest.mark.parametrize("nthread", [1, 3, 8])
def test_the_number_of_threads_changes_nothing(nthread: int) -> None:
    np.testing.assert_array_equal(run("humanoid", nthread)[0], run("humanoid", 2)[0])


def test_reading_changes_nothing() -> None:
    np.testing.assert_array_equal(run("mujoco", 2, reading=True)[0], run("mujoco", 2)[0])


def test_plain_poses_are_one_substep_behind_and_current_ones_are_not() -> None:
    plain, current = scene_of("ours").initialize(), scene_of("ours").initialize()
    previous = None
    for _ in range(5):
        plain.step()
        current.step(current=True)
        np.testing.assert_allclose(plain.pose_time, plain.time - plain.timestep)
        np.testing.assert_array_equal(current.pose_time, current.time)
        behind = plain.entities["it"].data.body_link_pose_w.copy()
        if previous is not None:
            np.testing.assert_array_equal(behind, previous)
        previous = current.entities["it"].data.body_link_pose_w.copy()
    np.testing.assert_array_equal(plain.simulation.batch.state, current.simulation.batch.state)


def test_written_environments_are_current_while_the_others_stay_behind() -> None:
    scene = scene_of("ours").initialize()
    scene.step()
    scene.simulation.written(np.array([2]))
    behind = scene.time - scene.pose_time
    np.testing.assert_allclose(behind, np.where(np.arange(ENVS) == 2, 0.0, scene.timestep))


def test_runge_kutta_leaves_no_intermediate_poses() -> None:
    scene = scene_of("ant").initialize()
    scene.step()
    np.testing.assert_array_equal(scene.pose_time, scene.time)
    trunk = scene.entities["it"].data
    np.testing.assert_allclose(trunk.body_link_pose_w[:, 0], trunk.root_link_pose_w, atol=1e-15)


def test_substeps_are_steps() -> None:
    one, many = scene_of("ant").initialize(), scene_of("ant").initialize()
    for _ in range(12):
        one.step()
    many.step(nstep=12)
    np.testing.assert_array_equal(one.simulation.batch.state, many.simulation.batch.state)


@pytest.mark.parametrize("field", ["qpos", "qvel"])
def test_a_diverged_environment_is_named_reset_and_counted(
    field: str, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = scene_of("ours").initialize()
    for _ in range(3):
        scene.step()
    others = scene_of("ours").initialize()
    for _ in range(4):
        others.step()
    getattr(scene.simulation, field)[5, 0] = np.nan
    with caplog.at_level(logging.WARNING):
        reset = scene.step()
    np.testing.assert_array_equal(reset, [5])
    np.testing.assert_array_equal(scene.reset_counts, [0, 0, 0, 0, 0, 1, 0])
    (divergence,) = scene.divergences
    assert (divergence.env, divergence.step) == (5, 4)
    kind = "position" if field == "qpos" else "velocity"
    assert caplog.messages == [f"environment 5 at step 4: {kind} is not finite or huge; it was reset"]
    # Back at its own start (not MuJoCo's), while the others went on as if nothing had happened.
    np.testing.assert_array_equal(scene.simulation.qpos[5], scene.model.key_qpos[0])
    rest = [0, 1, 2, 3, 4, 6]
    np.testing.assert_array_equal(scene.simulation.batch.state[rest], others.simulation.batch.state[rest])
    assert np.isfinite(scene.entities["it"].data.body_link_pose_w).all()
    assert not scene.step().size
    assert not list(tmp_path.iterdir()), "MuJoCo left a log file behind"


def test_controls_that_are_not_finite_are_reported_every_time(caplog: pytest.LogCaptureFixture) -> None:
    scene = scene_of("ours").initialize()
    scene.ctrl[2, 0] = np.nan
    with caplog.at_level(logging.WARNING):
        assert not scene.step().size
        assert not scene.step().size
        scene.ctrl[2, 0] = 0.0
        scene.step()
    assert caplog.messages == [
        f"environment 2 at step {step}: controls are not finite and were ignored" for step in (1, 2)
    ]
    assert np.isfinite(scene.simulation.qpos).all()
    assert not scene.reset_counts.any()


@pytest.mark.parametrize(
    ("memory", "resets", "reason"),
    [
        (6000, 1, "mj_stackAlloc: out of memory"),
        (3000, 0, "constraints were dropped for want of memory"),
        (1000, 0, "contacts were dropped for want of memory"),
    ],
)
def test_what_mujoco_cannot_do_is_reported_for_its_environment(memory: int, resets: int, reason: str) -> None:
    def starve(spec: Any) -> None:
        spec.memory = memory

    state = InitialStateCfg(pos=(0, 0, 5))
    entities = {"it": EntityCfg(spec_fn=walker, init_state=state)}
    cfg = SceneCfg(num_envs=ENVS, terrain=TerrainEntityCfg(), entities=entities, spec_fn=starve)
    scene = Scene(cfg).initialize()
    pose = np.array([0, 0, 0.28, 1, 0, 0, 0])
    pose[:3] += scene.env_origins[3]
    scene.entities["it"].write_root_pose_to_sim(pose, [3])  # into the ground: contacts need memory
    assert scene.step().size == resets
    assert scene.divergences[0].env == 3
    assert scene.divergences[0].reason.startswith(reason)
    assert scene.divergence_count == 1


def test_many_divergences_are_all_kept_and_a_few_spelt_out(caplog: pytest.LogCaptureFixture) -> None:
    scene = scene_of("ours").initialize()
    scene.simulation.qvel[:] = np.inf
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(scene.step(), np.arange(ENVS))
    assert len(scene.divergences) == scene.divergence_count == ENVS
    assert caplog.messages[-1] == "and 2 environments more at step 1"
