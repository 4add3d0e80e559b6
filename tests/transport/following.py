"""Letting replicas follow a publisher, with patience."""

from diorama.tests.patience import patiently
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica, Update


def catch_up(publisher: Publisher, *replicas: Replica) -> None:
    """Let the replicas reach the publisher's last update; bounded, and woken by messages."""
    for _ in patiently():
        publisher.poll()
        if all(replica.whole and replica.sequence == publisher.sequence for replica in replicas):
            return
        for replica in replicas:
            replica.poll(0.005)
    raise AssertionError("a replica did not catch up")


def follow(publisher: Publisher, replica: Replica) -> Update:
    """The next update of a replica."""
    for _ in patiently():
        publisher.poll()
        update = replica.poll(0.005)
        if update is not None:
            return update
    raise AssertionError("no update came")
