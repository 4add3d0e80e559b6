"""A running simulation that answers: the service wired to its world, its clock and its file."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from diorama.runtime.airsim_topics import airsim_topics
from diorama.runtime.simulation import Simulation
from diorama.schemas import topics
from diorama.schemas.errors import DioramaError
from diorama.transport.methods import Handlers
from diorama.transport.security import ServerSecurity
from diorama.transport.service import Service

ENDPOINT = "tcp://127.0.0.1:5556"
ANY_PORT = "tcp://127.0.0.1:*"


def answer(
    simulation: Simulation,
    endpoint: str | None = None,
    *,
    reload: Callable[[Path | None], None] | None = None,
    scenes: str | Path | None = None,
    topics_too: Sequence[str] = (),
    security: ServerSecurity | None = None,
    insecure: bool = False,
) -> Service:
    """Let a simulation answer between its ticks; close the service when it is over.

    Without an endpoint it is the usual one, or a free port when that is taken; over zenoh it is the publisher's.
    """
    endpoint = endpoint or getattr(simulation.publisher.link, "shared", None)

    def reload_and_tell(path: Path | None) -> None:
        assert reload is not None
        reload(path)
        service.tick = simulation.finished  # another scene's clock begins again

    handlers = Handlers(
        topics=lambda: [*topics.OURS, *topics_too, *airsim_topics(simulation.world)],
        traffic=lambda: asdict(simulation.publisher.statistics),
        reload=None if reload is None else reload_and_tell,
        pause=lambda: simulation.clock.pause(),
        resume=lambda: simulation.clock.resume(),
        step=lambda ticks: simulation.clock.step(ticks),
        clock=lambda: simulation.clock,
    )

    def open_at(where: str) -> Service:
        return Service(
            lambda: simulation.world,
            where,
            handlers=handlers,
            scenes=scenes,
            security=security,
            insecure=insecure,
        )

    service = open_somewhere(open_at, endpoint)
    simulation.service = service
    return service


def open_somewhere(open_at: Callable[[str], Service], endpoint: str | None) -> Service:
    """A service at its endpoint; without one at the usual place, or at a free port when that is taken."""
    try:
        return open_at(endpoint or ENDPOINT)
    except DioramaError:
        if endpoint:
            raise
        return open_at(ANY_PORT)
