"""What makes libzmq 4.3.5 abort the whole process, and must not be reached: each in a process of its own."""

import subprocess
import sys

import pytest

PATIENCE_S = 100.0

HALF_A_NAME = """
import sys
from contextlib import suppress
from socket import create_connection
from threading import Event, Thread

from diorama.ecs import World
from diorama.transport.publisher import Publisher
from diorama.transport.service import Service

FREE_PORT = "tcp://127.0.0.1:*"
opened = {"publisher": lambda: Publisher(FREE_PORT), "service": lambda: Service(World(), FREE_PORT)}[sys.argv[1]]


def finish(closing, peers):
    closing.wait()
    for peer in peers:
        with suppress(OSError):
            peer.sendall(b"x" * 80)


for _ in range(20):
    with opened() as server:
        port = int(server.endpoint.rpartition(":")[2])
        peers = [create_connection(("127.0.0.1", port)) for _ in range(40)]
        for peer in peers:
            peer.sendall(bytes([64, 0]))  # ZMTP 1: a frame of 64 bytes, of which one is here
        with suppress(OSError):
            peers[-1].recv(1)  # libzmq has taken in all of them by the time it greets or refuses the last one
        closing = Event()
        finishing = Thread(target=finish, args=(closing, peers))
        finishing.start()
        closing.set()
    finishing.join()
    for peer in peers:
        peer.close()
print("alive")
"""


@pytest.mark.parametrize("kind", ["publisher", "service"])
def test_an_old_peer_that_says_its_name_while_the_socket_closes(kind: str) -> None:
    assert said_by(HALF_A_NAME, kind) == "alive\n"


def said_by(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
