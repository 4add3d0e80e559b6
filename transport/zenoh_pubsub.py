"""Publishing and subscribing over zenoh.

A listener shows itself by a liveliness token for each topic it listens to, so the publisher encodes nothing that
nobody wants, and sees listeners come and go. The complete scene is a query: what looks like a subscription to
`snapshot/...` from above is a `get` here, asked again whenever a publisher appears. Keys are in docs/beyond.md.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any
from uuid import uuid4

from diorama.schemas import topics
from diorama.schemas.errors import DioramaError
from diorama.transport.engine import Frame, Frames, Interest
from diorama.transport.zenoh_endpoint import (
    key_from_topic,
    parse_endpoint,
    pattern_from_topic,
    quoted,
    topic_from_key,
    unquoted,
)
from diorama.transport.zenoh_session import (
    Inbox,
    Sender,
    close_link,
    direct,
    droppable,
    everyone,
    is_put,
    open_session,
    pack,
    undeclare,
    unpack,
)

INTERESTS = 100_000  # comings and goings kept for somebody who is busy elsewhere
NEWS = ("", None)  # in an inbox of messages: a publisher came or went
MOST_QUERIES = 10_000
QUERY_S = 10.0


class ZenohPublishLink:
    """One publisher of one scene. `shared` is the endpoint by which a service of this process shares its session."""

    def __init__(self, endpoint: str, *, queue: int, insecure: bool = False) -> None:
        where = parse_endpoint(endpoint)
        self._prefix = where.prefix
        self._sender = Sender(queue)
        self._session = open_session(where, serves=True, insecure=insecure)
        self.endpoints = [where.text if where.discovers else where.told(self._session.listen)]
        self.shared = where.with_listen(self._session.listen)
        self._inbox = Inbox(INTERESTS)
        self._listeners: dict[str, set[str]] = {}
        self._queries: dict[str, Any] = {}
        self._publishers: dict[str, Any] = {}
        self._declared: list[Any] = []
        self._session.when_open(self._declare)

    @property
    def socket(self) -> Inbox:
        """For whoever polls several links at once."""
        return self._inbox

    def send(self, topic: str, frames: Frames) -> Callable[[], bool]:
        """Send a message; its buffers are free at once."""
        session = self._session.now
        if session is None:
            return _done
        payload = pack(frames)
        if topic.startswith(topics.SNAPSHOT):
            query = self._queries.pop(topic, None)
            if query is not None:
                self._sender.send(partial(_reply, query, payload), len(payload))
            return _done
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self._publishers[topic] = session.declare_publisher(
                f"{self._prefix}/topic/{key_from_topic(topic)}", congestion_control=droppable(), express=True
            )
        self._sender.send(partial(publisher.put, payload), len(payload))
        return _done

    def interests(self, timeout_s: float = 0.0) -> list[Interest]:
        """Who came and left since last time; waits for the first one that long."""
        found: list[Interest] = []
        item = self._inbox.take(timeout_s)
        while item is not None:
            found += self._interest(*item)
            item = self._inbox.take()
        return found

    def close(self) -> None:
        """End; listeners see the publisher's token go."""
        self._sender.close()
        while self._queries:
            self._queries.popitem()[1].drop()
        undeclare(self._declared)
        while self._publishers:
            self._publishers.popitem()[1].undeclare()
        close_link(self._session, self._inbox)

    def _declare(self, session: Any) -> None:
        inbox, interest = self._inbox, f"{self._prefix}/interest/"
        self._declared += [
            session.liveliness().declare_subscriber(
                f"{interest}*/*",
                direct(
                    lambda sample: inbox.put((str(sample.key_expr).removeprefix(interest), is_put(sample)))
                ),
                history=True,
            ),
            session.declare_queryable(
                f"{self._prefix}/snapshot/*/*", direct(lambda query: inbox.put((query, True)))
            ),
            # Last: who sees it may ask at once.
            session.liveliness().declare_token(f"{self._prefix}/publisher/{uuid4().hex}"),
        ]

    def _interest(self, what: Any, listens: bool) -> list[Interest]:
        """One event as interests; a topic is left when its last listener has gone."""
        if not isinstance(what, str):
            topic = topic_from_key(str(what.key_expr).removeprefix(f"{self._prefix}/"))
            old = self._queries.pop(topic, None)
            if old is not None:
                old.drop()
            if len(self._queries) >= MOST_QUERIES:
                self._queries.pop(next(iter(self._queries))).drop()
            self._queries[topic] = what
            return [Interest(topic, True)]
        listener, _, chunk = what.partition("/")
        topic = unquoted(chunk)
        listeners = self._listeners.setdefault(topic, set())
        if listens:
            listeners.add(listener)
            return [Interest(topic, True)]
        listeners.discard(listener)
        if listeners:
            return []
        del self._listeners[topic]
        publisher = self._publishers.pop(topic, None)
        if publisher is not None:  # wishes for views are endless; what is listened to again is declared again
            publisher.undeclare()
        return [Interest(topic, False)]


class ZenohSubscribeLink:
    """One listener to one scene."""

    def __init__(self, endpoint: str, *, queue: int) -> None:
        where = parse_endpoint(endpoint)
        self._prefix = where.prefix
        self._name = uuid4().hex
        self._session = open_session(where, serves=False)
        self._inbox = Inbox(queue)
        # Apart from the messages, of which a slow reader loses the oldest: a publisher unheard of is never asked.
        self._news: deque[tuple[str, bool]] = deque(maxlen=INTERESTS)
        # The snapshots wanted, and the publishers that were asked for each.
        self._asking: dict[str, set[str]] = {}
        self._declared: dict[str, list[Any]] = {}
        self._watch: list[Any] = []
        self.publishers: set[str] = set()  # the tokens of those that are there
        self._session.when_open(self._watch_publishers)

    @property
    def socket(self) -> Inbox:
        """For whoever polls several links at once."""
        return self._inbox

    def subscribe(self, topic: str) -> None:
        """Receive what begins with this topic, from now on and across reconnects."""
        if topic.startswith(topics.SNAPSHOT):
            self._asking[topic] = set()
            self._ask()
        else:
            self._session.when_open(lambda session: self._declare(session, topic))

    def unsubscribe(self, topic: str) -> None:
        """Stop receiving it."""
        self._asking.pop(topic, None)
        self._session.when_open(lambda _: self._undeclare(topic))

    def receive(self, timeout_s: float) -> tuple[str, list[Frame]] | None:
        """The next message as topic and frames, or None after that long."""
        deadline = monotonic() + timeout_s
        item: Any = NEWS
        while item is NEWS:
            item = self._inbox.take(max(0.0, deadline - monotonic()))
            while self._news:
                self._notice(*self._news.popleft())
        if item is None:
            return None
        key, payload = item
        topic = topic_from_key(key.removeprefix(f"{self._prefix}/").removeprefix("topic/"))
        return topic, unpack(payload.to_bytes())

    def close(self) -> None:
        """End; the publisher sees the tokens go."""
        for topic in list(self._declared):
            self._undeclare(topic)
        undeclare(self._watch)
        close_link(self._session, self._inbox)

    def _watch_publishers(self, session: Any) -> None:
        inbox, news = self._inbox, self._news

        def heard(sample: Any) -> None:
            news.append((str(sample.key_expr), is_put(sample)))
            inbox.put(NEWS)

        self._watch.append(
            session.liveliness().declare_subscriber(
                f"{self._prefix}/publisher/*", direct(heard), history=True
            )
        )

    def _notice(self, publisher: str, is_there: bool) -> None:
        """A publisher came, or came back: ask it for what is wanted; or it went."""
        if is_there:
            self.publishers.add(publisher)
            self._ask()
            return
        self.publishers.discard(publisher)
        for asked in self._asking.values():
            asked.discard(publisher)

    def _declare(self, session: Any, topic: str) -> None:
        inbox = self._inbox
        self._declared[topic] = [
            session.declare_subscriber(
                f"{self._prefix}/topic/{pattern_from_topic(topic)}",
                direct(lambda sample: inbox.put((str(sample.key_expr), sample.payload))),
            ),
            session.liveliness().declare_token(f"{self._prefix}/interest/{self._name}/{quoted(topic)}"),
        ]

    def _undeclare(self, topic: str) -> None:
        undeclare(self._declared.pop(topic, [])[::-1])

    def _ask(self) -> None:
        session = self._session.now
        for topic, asked in self._asking.items():
            if session is not None and not self.publishers <= asked:
                asked |= self.publishers
                self._get(session, topic)

    def _get(self, session: Any, topic: str) -> None:
        inbox = self._inbox

        def answered(reply: Any) -> None:
            if reply.ok is not None:
                inbox.put((str(reply.ok.key_expr), reply.ok.payload))

        session.get(
            f"{self._prefix}/{key_from_topic(topic)}", direct(answered), timeout=QUERY_S, **everyone()
        )


def _reply(query: Any, payload: bytearray) -> None:
    with query:
        query.reply(query.key_expr, payload)


def one_endpoint(endpoints: Sequence[str]) -> str:
    """The endpoint, where there may be only one."""
    if len(endpoints) != 1:
        raise DioramaError(
            f"endpoints {list(endpoints)}: expected one for zenoh; several addresses go into one, with commas between"
        )
    return endpoints[0]


def _done() -> bool:
    return True
