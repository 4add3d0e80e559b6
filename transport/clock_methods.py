"""The clock of a running simulation: what time it is, and going on for a while."""

from collections.abc import Callable
from math import isfinite
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from diorama.transport import methods
from diorama.transport.methods import Call, Nothing, RequestError

Nanoseconds = Annotated[int, Meta(ge=0, le=2**62)]


@methods.query
def clock(call: Call, params: Nothing) -> dict[str, Any]:  # noqa: ARG001
    """The clock: simulated time (ns), whether it is paused, its real-time factor, and how well it is kept."""
    running = _clock(call)
    factor = running.real_time_factor
    return {
        "type": "real-time" if running.summary.startswith("real-time") else "steppable",
        "time_ns": running.time_ns,
        "ticks": running.index,
        "step_ns": getattr(running, "step_ns", None),
        "is_paused": running.is_paused,
        "real_time_factor": factor if isfinite(factor) else None,
        "measured_factor": running.measured_factor,
        "late_ticks": running.pace.late_ticks,
        "slipped_ns": running.pace.slipped_ns,
    }


class ContinueFor(msgspec.Struct, forbid_unknown_fields=True):
    """For how long, in simulated nanoseconds."""

    duration_ns: Nanoseconds


@methods.command
def continue_for(call: Call, params: ContinueFor) -> dict[str, Any]:
    """Run for a simulated time, up to the next whole step, then pause."""
    running = _clock(call)
    running.continue_for(params.duration_ns)
    return {"time_ns": running.time_ns}


class ContinueUntil(msgspec.Struct, forbid_unknown_fields=True):
    """Until when, in simulated nanoseconds."""

    time_ns: Nanoseconds


@methods.command
def continue_until(call: Call, params: ContinueUntil) -> dict[str, Any]:
    """Run until a simulated time, up to the next whole step, then pause; a time already past pauses now."""
    running = _clock(call)
    running.continue_until(params.time_ns)
    return {"time_ns": running.time_ns}


def _clock(call: Call) -> Any:
    found: Callable[[], Any] | None = call.handlers.clock
    if found is None:
        raise RequestError("not_supported", "this service was given no clock", "method")
    return found()
