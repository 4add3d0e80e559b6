"""Ten healthy subscribers while an eleventh is frozen (SIGSTOP): latency from publish to applied, with and without it.

Phases alternate in one run, so that the machine's moods hit both alike. Goal: p99 with the frozen one within 1.5x.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np

from diorama.ecs import World, propagate
from diorama.runtime.clock import Tick
from diorama.transport.publisher import Publisher

ENTITIES = 1_000
RATE_HZ = 100
PHASE_S = 5.0
PHASES = 6
TICKS = round(PHASE_S * RATE_HZ) * PHASES

HEALTHY = """
import sys, time
from diorama.transport.replica import Replica
replicas = [Replica(sys.argv[1], latest=False) for _ in range(10)]
for replica in replicas:
    replica.wait_until_whole(30)
print("whole", flush=True)
seen, last = [], 0
while last < int(sys.argv[2]):
    for replica in replicas:
        update = replica.poll(0.0005)
        if update is not None and update.index:
            seen.append((update.index, time.monotonic_ns() - update.time_ns))
            last = update.index
for index, latency in seen:
    print(index, latency)
"""
FROZEN = """
import sys
from diorama.transport.replica import Replica
replica = Replica(sys.argv[1])
replica.wait_until_whole(30)
print("whole", flush=True)
for update in replica:
    pass
"""


def start(code: str, endpoint: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", code, endpoint, str(TICKS)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def main() -> None:
    world = World()
    rows = world.rows(world.insert(ENTITIES))
    propagate(world)
    phase_of: list[bool] = [False]  # by tick: whether the eleventh was frozen
    with Publisher("tcp://127.0.0.1:*") as publisher:
        healthy, frozen = start(HEALTHY, publisher.endpoint), start(FROZEN, publisher.endpoint)
        publisher.publish(world, Tick(0, 0, 0))
        while publisher.statistics.joins < 11:
            publisher.poll(0.01)
        for process in (healthy, frozen):
            assert process.stdout is not None
            process.stdout.readline()
        for phase in range(PHASES):
            stalled = phase % 2 == 1
            os.kill(frozen.pid, signal.SIGSTOP if stalled else signal.SIGCONT)
            due = time.monotonic()
            for _ in range(round(PHASE_S * RATE_HZ)):
                due += 1 / RATE_HZ
                while (left := due - time.monotonic()) > 0:
                    publisher.poll(left)
                world.transforms.position[rows, 0] += 1.0
                propagate(world)
                phase_of.append(stalled)
                publisher.publish(world, Tick(len(phase_of) - 1, time.monotonic_ns(), 0))
        os.kill(frozen.pid, signal.SIGCONT)
        told, _ = healthy.communicate(timeout=60)
        frozen.kill()
        frozen.communicate()
    latency: dict[bool, list[int]] = {False: [], True: []}
    for line in told.splitlines():
        words = line.split()
        if len(words) == 2:
            latency[phase_of[int(words[0])]].append(int(words[1]))
    p99 = {stalled: float(np.percentile(values, 99)) / 1e6 for stalled, values in latency.items()}
    p50 = {stalled: float(np.percentile(values, 50)) / 1e6 for stalled, values in latency.items()}
    print(f"10 subscribers, {ENTITIES} entities at {RATE_HZ} Hz, all moving")
    print(f"  all healthy:             p50 {p50[False]:.2f} ms, p99 {p99[False]:.2f} ms")
    print(f"  with an eleventh frozen: p50 {p50[True]:.2f} ms, p99 {p99[True]:.2f} ms")
    print(
        f"  p99 ratio {p99[True] / p99[False]:.2f}; updates received {len(latency[False])} and {len(latency[True])}"
    )


if __name__ == "__main__":
    main()
