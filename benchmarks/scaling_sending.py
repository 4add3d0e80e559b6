"""What sending costs between processes, over ZeroMQ, zenoh and a zenoh router: for scaling_model.py."""

import subprocess
import sys
import time
from collections.abc import Sequence
from queue import Empty, Queue
from threading import Thread

import numpy as np
from scaling_fit import Cost, Point, fit

from diorama.transport.publisher import Publisher

LISTENER = """
import sys
from diorama.transport.subscriber import Subscriber
subscriber = Subscriber(sys.argv[1], "load/", queue=64)
count = 0
while True:
    message = subscriber.receive(1.0)
    if message is not None:
        print(int.from_bytes(bytes(message.frames[0][:8]), "little"), flush=True)
"""
ROUTER = """
import json, socket, sys, time, zenoh
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    address = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
config = zenoh.Config()
settings = {
    "mode": "router",
    "listen/endpoints": [address],
    "scouting/multicast/enabled": False,
    "transport/shared_memory/enabled": False,  # hosts that are apart have none
    "transport/link/tx/queue/size/data": 16,
}
for path, value in settings.items():
    config.insert_json5(path, json.dumps(value))
session = zenoh.open(config)
print(address, flush=True)
for line in sys.stdin:
    print(time.process_time(), flush=True)
"""
SIZES = (1_000, 100_000, 1_000_000, 8_400_000)


class Listener:
    """A process that says the number of every message it hears."""

    def __init__(self, endpoint: str) -> None:
        command = [sys.executable, "-c", LISTENER, endpoint]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.numbers: Queue[int] = Queue()
        Thread(target=self._read, daemon=True).start()

    def until(self, number: int) -> None:
        """Wait for a message, or for two seconds when it is lost."""
        try:
            while self.numbers.get(timeout=2.0) < number:
                pass
        except Empty:
            print(f"message {number} was lost", file=sys.stderr)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.numbers.put(int(line))


def sending_costs() -> tuple[list[Cost], Cost]:
    """CPU of publisher and router for each message and listener, by bytes; and the latency by bytes, one listener."""
    points: dict[str, list[Point]] = {"zmq": [], "zenoh": [], "router": [], "uplink": []}
    held: dict[str, Point] = {}
    delays: dict[str, list[Point]] = {"zmq": [], "zenoh": []}
    for engine in ("zmq", "zenoh", "router"):
        for listeners in (1, 2, 4):
            _send_series(engine, listeners, points, held, delays)
    names = ("each listener", "each byte to each listener")
    costs = [
        fit("send a message, ZeroMQ", names, points["zmq"], held["zmq"]),
        fit("send a message, zenoh, same host (shared memory)", names, points["zenoh"], held["zenoh"]),
        fit(
            "send a message to a router, zenoh",
            names[1:],
            _last_terms(points["uplink"]),
            _last_term(held["uplink"]),
        ),
        fit("pass a message on, zenoh router", names, points["router"], held["router"]),
    ]
    rows = delays["zmq"]
    middle = rows.pop(1)
    return costs, fit("latency of a message on loopback, ZeroMQ", ("each byte",), rows, middle)


def _last_terms(points: Sequence[Point]) -> list[Point]:
    return [_last_term(point) for point in points]


def _last_term(point: Point) -> Point:
    """Without the number of copies, which is always one."""
    return point[0][1:], point[1]


def _send_series(
    engine: str,
    listeners: int,
    points: dict[str, list[Point]],
    held: dict[str, Point],
    delays: dict[str, list[Point]],
) -> None:
    router = None
    endpoint = {"zmq": "tcp://127.0.0.1:*", "zenoh": "zenoh:?listen=tcp/127.0.0.1:0"}.get(engine, "")
    if engine == "router":
        router = subprocess.Popen(
            [sys.executable, "-c", ROUTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert router.stdout is not None
        endpoint = f"zenoh:{router.stdout.readline().strip()}"
    with Publisher(endpoint, queue=64) as publisher:
        children = [Listener(publisher.endpoint) for _ in range(listeners)]
        number = 0

        def send(size: int, repeats: int) -> list[float]:
            nonlocal number
            spent, body = [], bytearray(size)
            for _ in range(repeats):
                number += 1
                body[:8] = number.to_bytes(8, "little")  # nobody reads the last one any more
                begin = time.perf_counter()
                publisher.send_bytes("load", memoryview(body))
                for child in children:
                    child.until(number)
                spent.append(time.perf_counter() - begin)
            return spent

        seen = 0
        while seen < listeners:  # the first message each of them hears
            publisher.poll(0.02)
            publisher.send_bytes("load", (0).to_bytes(8, "little"))
            seen = sum(not child.numbers.empty() for child in children)
        for size in SIZES:
            repeats = max(10, min(200, 40_000_000 // size // listeners))
            send(size, 3)
            before = time.process_time(), _cpu(router)
            took = send(size, repeats)
            spent = time.process_time() - before[0], _cpu(router) - before[1]
            series = {engine: (spent[0], listeners)}
            if engine == "router":
                series = {"router": (spent[1], listeners), "uplink": (spent[0], 1)}
            for name, (cpu, copies) in series.items():
                point = ((float(copies), float(copies * size)), max(cpu / repeats, 1e-6))
                if listeners == 2 and size == 1_000_000:
                    held[name] = point
                else:
                    points[name].append(point)
            if listeners == 1 and engine in delays:
                delays[engine].append(((float(size),), float(np.median(took))))
        for child in children:
            child.close()
    if router is not None:
        router.kill()
        router.communicate()


def _cpu(router: "subprocess.Popen[str] | None") -> float:
    if router is None:
        return time.process_time()
    assert router.stdin is not None
    assert router.stdout is not None
    router.stdin.write("\n")
    router.stdin.flush()
    return float(router.stdout.readline())
