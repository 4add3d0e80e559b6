"""Two sources, a router and three hosts with replicas of both, on hosts of their own; things die and come back.

Whenever a path is back (the sources see their listeners again), every replica is whole within two updates, and
whatever a replica shows in between was published just so.
"""

import signal
import socket
from collections.abc import Callable, Iterator

import pytest

from diorama.tests.network.hosts import Hosts, Program, hosts

PROGRAM = "diorama.tests.network.program"
SCENES = ("north", "south")
REPLICA_LEAVES = (2, 3, 4)


class Fleet:
    """Everything that runs, and what was published and seen."""

    def __init__(self, net: Hosts) -> None:
        self.net = net
        self.port = 7447 if net.apart else free_port()
        self.published: set[str] = set()
        self.last: dict[str, str] = {}
        self.seed = 0
        self.router = self.start_router()
        self.sources = [self.start_source(index) for index in range(2)]
        self.replicas = [
            self.start(leaf, "replica", *map(self.endpoint(leaf), SCENES)) for leaf in REPLICA_LEAVES
        ]

    def start(self, leaf: int | None, *arguments: str) -> Program:
        program = self.net.run(leaf, PROGRAM, *arguments)
        assert program.line() == "here"
        return program

    def start_router(self) -> Program:
        return self.start(None, "router", f"tcp/{'0.0.0.0' if self.net.apart else '127.0.0.1'}:{self.port}")

    def start_source(self, index: int) -> Program:
        return self.start(index, "source", self.endpoint(index)(SCENES[index]))

    def endpoint(self, leaf: int) -> Callable[[str], str]:
        return lambda scene: f"zenoh:tcp/{self.net.address(leaf)}:{self.port}?scene={scene}"

    def publish(self, *indices: int) -> None:
        """One update of some sources (of all when none is named)."""
        for index in indices or (0, 1):
            self.seed += 1
            self.last[SCENES[index]] = self.sources[index].ask(str(self.seed))
            self.published.add(f"{SCENES[index]} {self.last[SCENES[index]]}")

    def wait_for_listeners(self, count: int, *indices: int) -> None:
        for index in indices or (0, 1):
            assert self.sources[index].ask(f"listeners {count}") == f"listeners {count}"

    def check(self, leaves: tuple[int, ...] = REPLICA_LEAVES) -> None:
        """Every replica reaches what was published last, over nothing but what was published."""
        for leaf in leaves:
            program = self.replicas[REPLICA_LEAVES.index(leaf)]
            missing = dict(self.last)
            while missing:
                endpoint, _, state = program.line().partition(" ")
                scene = endpoint.rpartition("=")[2]
                assert f"{scene} {state}" in self.published
                if missing.get(scene) == state:
                    del missing[scene]

    def close(self) -> None:
        for program in (*self.replicas, *self.sources, self.router):
            program.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with hosts(5) as net:
        made = Fleet(net)
        try:
            made.wait_for_listeners(3)
            made.publish()
            made.check()
            yield made
        finally:
            made.close()


def test_a_source_dies_and_comes_back(fleet: Fleet) -> None:
    fleet.sources[0].kill()
    fleet.publish(1)
    fleet.sources[0] = fleet.start_source(0)
    fleet.wait_for_listeners(3)
    fleet.publish()
    fleet.publish()
    fleet.check()


def test_the_router_dies_and_comes_back(fleet: Fleet) -> None:
    fleet.router.kill()
    fleet.wait_for_listeners(0)
    fleet.publish()
    fleet.router = fleet.start_router()
    fleet.wait_for_listeners(3)
    fleet.publish()
    fleet.publish()
    fleet.check()


def test_a_link_is_cut_and_mended(fleet: Fleet) -> None:
    """The link of one replica, then that of a source. On loopback the router is stopped for a while instead."""
    for leaf, index in ((REPLICA_LEAVES[0], 1), (0, 0)):
        if fleet.net.apart:
            fleet.net.cut(leaf)
        else:
            fleet.router.signal(signal.SIGSTOP)
        everybody = leaf == 0 or not fleet.net.apart
        fleet.wait_for_listeners(0 if everybody else 2, index)  # the silence is noticed
        fleet.publish()
        fleet.publish()
        if not everybody:
            fleet.check(REPLICA_LEAVES[1:])  # nobody else minds
        if fleet.net.apart:
            fleet.net.mend(leaf)
        else:
            fleet.router.signal(signal.SIGCONT)
        fleet.wait_for_listeners(3)
        fleet.publish()
        fleet.publish()
        fleet.check()
