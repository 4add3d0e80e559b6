"""Many copies of one model stepped together: the only owner of MuJoCo's batch.

State (qpos, qvel, ctrl, …) is always current. Derived values (poses, sensors) are those of MuJoCo's last
call: after a step they are one substep behind the state, as with mj_step, unless current ones were asked
for; after a write or a reset they are computed again before anyone reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.physics.mujoco_import import Batch, MjModel, SimulationError, mujoco, route_warnings
from diorama.schemas.errors import StateError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EnvIds = ArrayLike | slice | None

POSITIONS = int(mujoco.mjtStage.mjSTAGE_POS)
NOTHING = int(mujoco.mjtStage.mjSTAGE_NONE)
WARNINGS = mujoco.mjtWarning
# What MuJoCo counts per environment: numbers after which it starts over by itself, and what it goes on with.
FATAL = {
    int(WARNINGS.mjWARN_BADQPOS): "position is not finite or huge",
    int(WARNINGS.mjWARN_BADQVEL): "velocity is not finite or huge",
    int(WARNINGS.mjWARN_BADQACC): "acceleration is not finite or huge",
}
NOT_FATAL = {
    int(WARNINGS.mjWARN_INERTIA): "its inertia matrix is close to singular",
    int(WARNINGS.mjWARN_CONTACTFULL): "contacts were dropped for want of memory",
    int(WARNINGS.mjWARN_CNSTRFULL): "constraints were dropped for want of memory",
    int(WARNINGS.mjWARN_BADCTRL): "controls are not finite and were ignored",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """An environment that went wrong: which, at which step of the scene, why, and whether it was reset."""

    env: int
    step: int
    reason: str
    was_reset: bool = True

    def __str__(self) -> str:
        done = "; it was reset" if self.was_reset else ""
        return f"environment {self.env} at step {self.step}: {self.reason}{done}"


class Simulation:
    """A batch of environments, with what is needed to never show stale or silently reset values."""

    def __init__(self, model: MjModel, num_envs: int, nthread: int = 0) -> None:
        route_warnings()
        self.model = model
        self.num_envs = num_envs
        self.batch: Any = Batch(model, num_envs, nthread)
        self.qpos: Floats = self.batch.bind("qpos")
        self.qvel: Floats = self.batch.bind("qvel")
        self.ctrl: Floats = self.batch.bind("ctrl")
        self.time: Floats = self.batch.bind("time")
        self._bound: dict[str, Any] = {
            name: self.batch.bind(name) for name in ("xpos", "xquat", "sensordata")
        }
        self.expanded: set[str] = set()
        self._written = np.ones(num_envs, dtype=bool)
        self._any_written = True
        self._lag = np.zeros(num_envs)
        # A counter per environment and warning, which the batch raises.
        self._counts: NDArray[np.int32] = self.batch.warning[:, :, 1]
        # Runge-Kutta leaves the poses of a trial state behind, which are those of no time at all.
        self._always_current = model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
        self.version = 0

    def ids(self, env_ids: EnvIds) -> slice | Ints:
        """Environment indices as numpy takes them: None is all, masks and slices are welcome."""
        if env_ids is None:
            return slice(None)
        if isinstance(env_ids, slice):
            return env_ids
        ids = np.asarray(env_ids)
        if ids.dtype == bool:
            ids = np.flatnonzero(ids) if ids.shape == (self.num_envs,) else ids
        ids = np.atleast_1d(ids)
        if ids.ndim > 1:
            raise StateError(f"env_ids: expected one index per environment, got shape {ids.shape}")
        if ids.size == 0:
            return np.zeros(0, dtype=np.int64)
        if not np.issubdtype(ids.dtype, np.integer):
            raise StateError(f"env_ids: expected integers, or {self.num_envs} booleans, got {ids.dtype}")
        if ids.min() < 0 or ids.max() >= self.num_envs:
            raise StateError(f"env_ids: expected 0 to {self.num_envs - 1}, got {ids.min()} to {ids.max()}")
        return ids.astype(np.int64)

    def written(self, ids: slice | Ints) -> None:
        """Remember that the state of some environments was changed from outside."""
        self._written[ids] = True
        self._any_written = True
        self.version += 1

    def derived(self, name: str) -> Any:
        """A derived field of all environments, (environments, …), current for what was written."""
        if name not in self._bound:
            self._bound[name] = self.batch.bind(name)
            self.written(slice(None))
        self.refresh()
        return self._bound[name]

    def refresh(self) -> None:
        """Compute derived values of the environments written since the last call. State is not touched."""
        if self._any_written:
            self._forward(self._written)

    def refresh_all(self) -> None:
        """Bring all poses up to the state, where they are a substep behind."""
        self.refresh()
        if self._lag.any():
            self.batch.forward(stage=POSITIONS)
            self._lag[:] = 0.0

    def _forward(self, mask: NDArray[np.bool_]) -> None:
        try:
            self.batch.forward(np.flatnonzero(mask))
        except SimulationError as error:
            raise StateError(str(error)) from error
        self._lag[mask] = 0.0
        self._written[:] = False
        self._any_written = False

    @property
    def pose_time(self) -> Floats:
        """The simulated time that derived poses belong to, per environment (s)."""
        self.refresh()
        return self.time - self._lag

    def step(self, nstep: int = 1, current: bool = False) -> dict[int, str]:
        """Advance all environments; who could not go on, and why.

        MuJoCo puts such an environment back to its reference by itself; what it starts from again is for
        the caller to say. With `current` poses belong to the new state, for the price of another
        position stage (about 40 % at one substep, 5 % at four); with Runge-Kutta they always do.
        """
        if nstep < 1:
            raise StateError(f"nstep: expected at least one substep, got {nstep}")
        current = current or self._always_current
        failed: dict[int, str] = {}
        try:
            self.batch.step(nstep=nstep, stage=POSITIONS if current else NOTHING)
        except SimulationError as error:
            failed = {int(env): " ".join(self.batch.error(int(env)).split()) for env in error.ids}
        self._lag[:] = 0.0 if current else self.model.opt.timestep
        self._written[:] = False
        self._any_written = False
        self.version += 1
        return failed | self._counted(FATAL)

    def take_warnings(self) -> dict[int, str]:
        """Environments that went on although something was wrong since the last call, and what."""
        found = self._counted(NOT_FATAL)
        if found:
            self._counts[:, list(NOT_FATAL)] = 0
        return found

    def _counted(self, reasons: Mapping[int, str]) -> dict[int, str]:
        """The environments that have a count for one of these warnings."""
        if not self._counts.any():
            return {}
        return {
            int(env): reason
            for warning, reason in reasons.items()
            for env in np.flatnonzero(self._counts[:, warning])
        }

    def reset(self, ids: slice | Ints, keyframe: int) -> None:
        """Put environments back to a keyframe, with nothing left of what they did before."""
        chosen = np.unique(np.arange(self.num_envs)[ids])
        if not chosen.size:
            return
        self.batch.reset(chosen, keyframe=keyframe, stage=NOTHING)
        self.written(chosen)

    def expand(self, name: str) -> Floats:
        """A model field with a value per environment, (environments, …), writable."""
        self.expanded.add(name)
        values: Floats = self.batch.expand(name)
        return values

    def ray(self, *args: Any, **options: Any) -> Any:
        """MuJoCo's batched ray casting, against the current state."""
        return self.batch.ray(*args, **options)
