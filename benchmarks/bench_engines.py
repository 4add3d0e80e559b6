"""zenoh against ZeroMQ: columns of 10 000 and 100 000 moving entities to a replica in another process, on loopback.

Both engines take turns in one run. Throughput is updates a second with a few in flight, latency (p50, p99) is from
just before `publish` until the replica has applied the update, one update at a time, by the clock both processes
share. A round that is disturbed disturbs both.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
from bench_columns import tree

from diorama.ecs import propagate
from diorama.transport.publisher import Publisher

ENDPOINTS = {"zmq": "tcp://127.0.0.1:*", "zenoh": "zenoh:?listen=tcp/127.0.0.1:0"}
FOLLOWER = """
import sys, time
from diorama.transport.replica import Replica
with Replica(sys.argv[1], latest=False, queue=64) as replica:
    print(replica.wait_until_whole(60).sequence, 0, flush=True)
    for update in replica:
        print(update.sequence, time.monotonic_ns(), flush=True)
"""
IN_FLIGHT = 4


class Lane:
    """One engine: a publisher here, a replica in a process of its own."""

    def __init__(self, endpoint: str, count: int) -> None:
        self.world = tree(count)
        self.rows = self.world.forest.order()
        self.publisher = Publisher(endpoint, queue=64)
        command = [sys.executable, "-c", FOLLOWER, self.publisher.endpoint]
        self.follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.publisher.publish(self.world)
        while self.publisher.statistics.joins == 0:
            self.publisher.poll(0.01)
        self.until(self.publisher.sequence)

    def until(self, sequence: int) -> int:
        """When the replica had applied an update (ns)."""
        assert self.follower.stdout is not None
        while True:
            seen, when = map(int, self.follower.stdout.readline().split())
            if seen >= sequence:
                return when

    def update(self) -> None:
        self.world.transforms.position[self.rows, 0] += 1.0
        propagate(self.world)
        self.publisher.publish(self.world)

    def latencies(self, number: int) -> list[float]:
        """Seconds from before publishing until applied, one at a time."""
        found = []
        for _ in range(number):
            begin = time.monotonic_ns()
            self.update()
            found.append((self.until(self.publisher.sequence) - begin) * 1e-9)
        return found

    def rate(self, number: int) -> float:
        """Updates a second, with a few in flight."""
        begin = time.perf_counter()
        first = self.publisher.sequence
        for index in range(number):
            self.update()
            if index >= IN_FLIGHT:
                self.until(first + index + 1 - IN_FLIGHT)
        self.until(self.publisher.sequence)
        return number / (time.perf_counter() - begin)

    def close(self) -> None:
        self.follower.kill()
        self.follower.communicate()
        self.publisher.close()


def run(count: int, rounds: int, number: int) -> None:
    lanes = {name: Lane(endpoint, count) for name, endpoint in ENDPOINTS.items()}
    latencies: dict[str, list[float]] = {name: [] for name in lanes}
    rates: dict[str, list[float]] = {name: [] for name in lanes}
    for _ in range(rounds):
        for name, lane in lanes.items():
            latencies[name] += lane.latencies(number)
            rates[name].append(lane.rate(number))
    size = {
        name: lane.publisher.statistics.bytes_sent / lane.publisher.sequence for name, lane in lanes.items()
    }
    for lane in lanes.values():
        lane.close()
    best = {name: max(found) for name, found in rates.items()}
    for name in lanes:
        p50, p99 = np.percentile(latencies[name], [50, 99]) * 1e3
        print(
            f"{count:>7} entities, {size[name] / 1e6:5.2f} MB  {name:<6} {best[name]:7.0f} updates/s "
            f"{best[name] * size[name] / 1e9:5.2f} GB/s   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   "
            f"rate x{best[name] / best['zmq']:.2f}  p50 x{p50 / (np.median(latencies['zmq']) * 1e3):.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    for count, number in ((10_000, 40), (100_000, 10)):
        run(count, rounds, number)


if __name__ == "__main__":
    main()
