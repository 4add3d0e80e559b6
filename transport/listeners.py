"""Who listens to what at a publisher, in bounded memory however many wishes a subscriber has."""

import logging

from diorama.schemas import topics

MOST_TOPICS = 4096
MOST_JOINS = 1024
log = logging.getLogger("diorama.transport")


class Listeners:
    """The topics (prefixes, as ZeroMQ matches them) that somebody listens to, and who waits for a complete scene.

    Prefixes of our own topics are few and always kept. Of others so many are kept; beyond that every topic that is
    not ours counts as listened to, which costs encoding it and loses nothing.
    """

    def __init__(self) -> None:
        self._ours: set[str] = set()
        self._others: set[str] = set()
        self._overflown = False
        self._joining: dict[str, None] = {}

    def note(self, topic: str, listens: bool) -> None:
        """Somebody began to listen to a topic, or the last one left."""
        if topic.startswith(topics.SNAPSHOT):
            self._note_join(topic, listens)
            return
        known = self._ours if any(own.startswith(topic) for own in topics.OURS) else self._others
        if not listens:
            known.discard(topic)
        elif known is self._ours or len(known) < MOST_TOPICS:
            known.add(topic)
        elif not self._overflown and topic not in known:
            self._overflown = True
            log.warning("more than %d topics are subscribed to; from now on all are sent", MOST_TOPICS)

    def hears(self, topic: str) -> bool:
        """Whether somebody listens to a topic."""
        if any(topic.startswith(prefix) for prefix in self._ours):
            return True
        if self._overflown and topic not in topics.OURS:
            return True
        if not self._others:
            return False
        return any(topic[:length] in self._others for length in range(len(topic) + 1))

    def take_joins(self) -> list[str]:
        """Snapshot topics that nobody has answered yet; they are not told again."""
        waiting = list(self._joining)
        self._joining.clear()
        return waiting

    def _note_join(self, topic: str, listens: bool) -> None:
        if not listens:
            self._joining.pop(topic, None)  # it has given up, or asks again under another number
        elif topics.encoding_of_snapshot(topic) and len(self._joining) < MOST_JOINS:
            self._joining[topic] = None  # beyond that, it will ask again
