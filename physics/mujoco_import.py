"""The one place where MuJoCo is imported, so that everything else works without it."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from diorama.schemas.errors import missing_extra

try:
    import mujoco
    from mujoco import batch
except ImportError:
    missing_extra("mujoco", "composing and stepping physics scenes")

Batch = batch.Batch
SimulationError = batch.SimulationError
# MuJoCo ships no type information: these names are for the reader.
MjSpec = Any
MjModel = Any

logger = logging.getLogger(__name__)


def route_warnings() -> None:
    """Send MuJoCo's warnings to the log, unless somebody already receives them.

    On its own MuJoCo prints them and writes a file into the current directory, once for every environment.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_to_log)


@contextmanager
def composing() -> Iterator[None]:
    """Log what MuJoCo warns about while specs are joined, such as visual settings that differ."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        logger.info("MuJoCo: %s", warning.message)


def _to_log(message: str) -> None:
    # Debug: scenes report what concerns their environments themselves, with the index.
    logger.debug("MuJoCo: %s", message)


__all__ = ["Batch", "MjModel", "MjSpec", "SimulationError", "composing", "mujoco", "route_warnings"]
