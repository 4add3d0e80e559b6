"""Stepping: the same bits as a loop over MjData, for any number of threads; divergence is never silent."""

import logging
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from diorama.physics import EntityCfg, Scene, SceneCfg, TerrainEntityCfg
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


def test_controls_that_are_not_finite_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    scene = scene_of("ours").initialize()
    scene.ctrl[2, 0] = np.nan
    with caplog.at_level(logging.WARNING):
        assert not scene.step().size
    assert caplog.messages == ["environment 2 at step 1: controls are not finite; its controls were ignored"]
    assert np.isfinite(scene.simulation.qpos).all()
