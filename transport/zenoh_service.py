"""Requests and answers over zenoh: a queryable that answers, and queries that ask.

A service shows itself by a liveliness token: a request leaves when there is one, and is asked once only, since a
command must not be done twice.
"""

from threading import Event
from typing import Any
from uuid import uuid4

from diorama.transport.engine import Frame, Frames
from diorama.transport.service_link import Caller
from diorama.transport.zenoh_endpoint import parse_endpoint, quoted, unquoted
from diorama.transport.zenoh_session import (
    Inbox,
    close_link,
    direct,
    is_put,
    open_session,
    pack,
    undeclare,
    unpack,
)

WAITING_REQUESTS = 1000
MOST_FRAMES = 8
ANSWER_S = 60.0
CLIENT = "client"


class ZenohAnswerLink:
    """A queryable of one scene."""

    def __init__(self, endpoint: str, *, insecure: bool = False) -> None:
        where = parse_endpoint(endpoint)
        self._session = open_session(where, serves=True, insecure=insecure)
        self.endpoint = where.text if where.discovers else where.told(self._session.listen)
        self._prefix = where.prefix
        self._inbox = Inbox(WAITING_REQUESTS)
        self._queries: dict[bytes, Any] = {}
        self._declared: list[Any] = []
        self._session.when_open(self._declare)

    @property
    def socket(self) -> Inbox:
        """For whoever polls several links at once."""
        return self._inbox

    def receive(self, timeout_s: float) -> tuple[Caller, list[Frame]] | None:
        """The next request, or None after that long."""
        query = self._inbox.take(timeout_s)
        if query is None:
            return None
        name = unquoted(query.parameters.get(CLIENT, "")).encode()
        ticket = uuid4().bytes
        self._queries[ticket] = query
        payload = b"" if query.payload is None else query.payload.to_bytes()
        # What is not packed is passed on as it is: the service says what is wrong with it.
        frames: list[Frame] = unpack(payload) or [payload]
        return Caller(name, (ticket,)), frames[:MOST_FRAMES]

    def reply(self, caller: Caller, frames: Frames) -> None:
        """Answer; an answer for somebody who has gone is dropped."""
        query = self._queries.pop(caller.route[0], None)
        if query is not None:
            with query:
                query.reply(query.key_expr, pack(frames))

    def close(self) -> None:
        """End; whoever waits is told that nobody answers."""
        undeclare(self._declared)
        while (query := self._inbox.take()) is not None:
            query.drop()
        close_link(self._session, self._inbox)

    def _declare(self, session: Any) -> None:
        key = f"{self._prefix}/service"
        self._declared += [
            session.declare_queryable(key, direct(self._inbox.put)),
            session.liveliness().declare_token(f"{key}/{uuid4().hex}"),
        ]


class ZenohRequestLink:
    """Queries to the service of one scene."""

    def __init__(self, endpoint: str) -> None:
        where = parse_endpoint(endpoint)
        self._session = open_session(where, serves=False)
        self._key = f"{where.prefix}/service"
        self._name = uuid4().hex
        self._inbox = Inbox(WAITING_REQUESTS)
        self._services: set[str] = set()
        self._there = Event()
        self._watch: list[Any] = []
        self._session.when_open(self._declare)

    @property
    def socket(self) -> Inbox:
        """For whoever polls several links at once."""
        return self._inbox

    def send(self, frames: Frames, timeout_s: float) -> bool:
        """Send a request; False when no service showed itself within that time."""
        if not self._there.wait(timeout_s):
            return False
        session = self._session.now
        if session is None:
            return False
        inbox = self._inbox
        session.get(
            f"{self._key}?{CLIENT}={quoted(self._name)}",
            direct(lambda reply: inbox.put(reply.ok.payload) if reply.ok is not None else None),
            payload=pack(frames),
            timeout=ANSWER_S,
        )
        return True

    def receive(self, timeout_s: float) -> list[Frame] | None:
        """The next answer, or None after that long."""
        payload = self._inbox.take(timeout_s)
        return None if payload is None else unpack(payload.to_bytes())

    def close(self) -> None:
        """End."""
        undeclare(self._watch)
        close_link(self._session, self._inbox)

    def _declare(self, session: Any) -> None:
        def noticed(sample: Any) -> None:
            (self._services.add if is_put(sample) else self._services.discard)(str(sample.key_expr))
            (self._there.set if self._services else self._there.clear)()

        self._watch.append(
            session.liveliness().declare_subscriber(f"{self._key}/*", direct(noticed), history=True)
        )
