"""Questions over a socket against bare pyproj in this process: single conversions, batches, feeding.

The service runs in a process of its own, as it does in use. The limit of any service is an echo of the same bytes
over the same kind of socket; what is above that is ours.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import orjson
import pyproj
import zmq
from measure import measure, table

from diorama.transport.client import Client
from diorama.transport.feed import Feed

ENTITIES = 10_000
IN_FLIGHT = 200

SERVER = f"""
import zmq
from diorama.ecs import World, propagate
from diorama.geo import Origin
from diorama.transport.methods import Limits
from diorama.transport.service import Service

world = World(Origin(29.594656, -95.163847, -28.3))
world.insert([f"e{{index}}" for index in range({ENTITIES})])
propagate(world)
service = Service(world, "tcp://127.0.0.1:*", limits=Limits(requests_per_s=1e9))
print(service.endpoint, flush=True)
while True:
    service.poll(1.0, budget_s=0.1)
"""

ECHO = """
import zmq
socket = zmq.Context.instance().socket(zmq.ROUTER)
socket.bind("tcp://127.0.0.1:*")
print(socket.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
while True:
    socket.send_multipart(socket.recv_multipart(copy=False), copy=False)
"""


@contextmanager
def process(program: str) -> Iterator[str]:
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        yield child.stdout.readline().strip().rstrip("\0")
    finally:
        child.kill()
        child.communicate()


def main() -> None:
    with process(SERVER) as service, process(ECHO) as echo, Client(service, timeout_s=30) as client:
        link: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        link.connect(echo)
        to_ecef = pyproj.Transformer.from_crs("EPSG:4979", "EPSG:4978")
        random = np.random.default_rng(1)

        def echoed(frames: list[bytes]) -> None:
            link.send_multipart(frames)
            link.recv_multipart(copy=False)

        one = [29.6, -95.2, 100.0]
        request = orjson.dumps(
            {"id": 1, "method": "convert", "params": {"source": "lla", "target": "ecef", "points": [one]}}
        )
        pipelined: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        pipelined.connect(service)

        def in_flight() -> None:
            for _ in range(IN_FLIGHT):
                pipelined.send(request)
            for _ in range(IN_FLIGHT):
                pipelined.recv()

        def echo_in_flight() -> None:
            for _ in range(IN_FLIGHT):
                link.send(request)
            for _ in range(IN_FLIGHT):
                link.recv()

        singles = measure(
            {
                "pyproj, one point in this process": lambda: to_ecef.transform(*one),
                "echo of the same bytes, bare pyzmq": lambda: echoed([request]),
                "ask: convert one point": lambda: client.convert([one], "lla", "ecef"),
                "ask: where is an entity": lambda: client.where("e77"),
                "ask: ten nearest of 10 000": lambda: client.nearest([0, 0, 0], k=10),
            },
            seconds=6.0,
        )
        print(table("one question at a time, there and back", singles))
        print(f"  = {1 / singles['ask: convert one point'].best:,.0f} conversions a second from one client")
        together = measure({"echo": echo_in_flight, "ask: convert one point": in_flight}, seconds=3.0)
        print(table(f"{IN_FLIGHT} single questions in flight", together, unit=IN_FLIGHT))
        for count in (100, 10_000, 100_000):
            lla = random.uniform((-80, -180, 0), (80, 180, 9000), (count, 3))
            columns = [np.ascontiguousarray(column) for column in lla.T]
            body = lla.tobytes()
            batch = measure(
                {
                    "pyproj, arrays in this process": lambda c=columns: to_ecef.transform(*c),  # type: ignore[misc]
                    "echo of the same bytes, bare pyzmq": lambda b=body: echoed([request, b]),  # type: ignore[misc]
                    "ask: convert": lambda p=lla: client.convert(p, "lla", "ecef"),  # type: ignore[misc]
                },
                seconds=4.0,
            )
            print(table(f"{count:,} points in one question", batch, unit=count))
        names = [f"e{index}" for index in range(ENTITIES)]
        poses = np.zeros((ENTITIES, 7))
        poses[:, 6] = 1.0
        moved = iter(range(1, sys.maxsize))
        with Feed(service, "bench", names, silence_s=600) as feed:

            def fed() -> None:
                poses[:, 0] = next(moved)
                feed.send(poses)

            body = poses.tobytes() + bytes(8 * ENTITIES)
            feeding = measure({"echo of the same bytes": lambda: echoed([body]), "feed": fed}, seconds=3.0)
        print(table(f"feeding {ENTITIES:,} poses, there and back", feeding, unit=ENTITIES))
        link.close()
        pipelined.close()


if __name__ == "__main__":
    main()
