"""Who is on a zenoh network: publishers, listeners and services, as they come and go."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from diorama.transport.zenoh_endpoint import parse_endpoint, unquoted
from diorama.transport.zenoh_session import Inbox, close_link, direct, is_put, open_session, undeclare

KINDS = {"publisher": "publishes", "interest": "listens", "service": "answers"}


@dataclass(frozen=True, slots=True)
class Presence:
    """Somebody came or went. `what` is the topic a listener listens to, and the name of anybody else."""

    scene: str
    kind: str  # "publishes", "listens" or "answers"
    what: str
    is_there: bool


def presences(endpoint: str, timeout_s: float | None) -> Iterator[Presence]:
    """Everybody who is there, then whoever comes and goes, for that long (None: without end)."""
    session = open_session(parse_endpoint(endpoint), serves=False)
    inbox = Inbox(100_000)
    declared: list[Any] = []
    session.when_open(
        lambda opened: declared.append(
            opened.liveliness().declare_subscriber(
                "diorama/**",
                direct(lambda sample: inbox.put((str(sample.key_expr), is_put(sample)))),
                history=True,
            )
        )
    )
    end = None if timeout_s is None else monotonic() + timeout_s
    try:
        while end is None or monotonic() < end:
            item = inbox.take(0.1 if end is None else max(0.0, min(0.1, end - monotonic())))
            presence = None if item is None else _presence(*item)
            if presence is not None:
                yield presence
    finally:
        undeclare(declared)
        close_link(session, inbox)


def _presence(key: str, is_there: bool) -> Presence | None:
    parts = key.split("/")
    for place in (-2, -3):
        kind = KINDS.get(parts[place]) if len(parts) >= 2 - place else None
        if kind is not None and (kind == "listens") == (place == -3):
            what = unquoted(parts[-1]) or "everything" if kind == "listens" else parts[-1]
            return Presence("/".join(parts[1:place]), kind, what, is_there)
    return None
