"""How well a clock keeps its pace, and what waiting costs: 3 ms period, no work, alone and with sockets to poll."""

import statistics
import time
from collections.abc import Callable
from itertools import islice

import zmq

from diorama.runtime.clock import SteppableClock

PERIOD_NS = 3_000_000
TICKS = 1_000


def socket_poller() -> Callable[[float], object]:
    """A wait hook as a server has it: poll two sockets that stay silent."""
    context = zmq.Context.instance()
    poller = zmq.Poller()
    for kind in (zmq.ROUTER, zmq.XPUB):
        socket = context.socket(kind)
        socket.bind_to_random_port("tcp://127.0.0.1")
        poller.register(socket, zmq.POLLIN)
    return lambda timeout_s: poller.poll(int(timeout_s * 1e3))


def run(name: str, wait: Callable[[float], object] | None) -> None:
    clock = SteppableClock(PERIOD_NS, wait=wait)
    next(clock)
    begin, cpu = time.monotonic_ns(), time.process_time_ns()
    lateness = [
        abs(time.monotonic_ns() - begin - (place + 1) * PERIOD_NS)
        for place, _ in enumerate(islice(clock, TICKS))
    ]
    share = (time.process_time_ns() - cpu) / (time.monotonic_ns() - begin)
    ordered = sorted(lateness)
    print(
        f"  {name:<24} median error {statistics.median(lateness) / 1e3:7.1f} µs (< 200)   "
        f"99 % {ordered[len(ordered) * 99 // 100] / 1e3:8.1f} µs   CPU {share:6.1%} of a core (< 10 %)   "
        f"late ticks {clock.pace.late_ticks}/{TICKS}   factor {clock.measured_factor:.4f}"
    )


def paused(wait: Callable[[float], object]) -> None:
    clock = SteppableClock(PERIOD_NS, pause_on_start=True)
    polls = 0

    def stop_after_ten(timeout_s: float) -> None:
        nonlocal polls
        wait(timeout_s)
        polls += 1
        if polls == 10:
            clock.stop()

    clock.wait = stop_after_ten
    begin, cpu = time.monotonic_ns(), time.process_time_ns()
    list(clock)
    share = (time.process_time_ns() - cpu) / (time.monotonic_ns() - begin)
    print(f"  {'paused, polling sockets':<24} CPU {share:6.2%} of a core")


def main() -> None:
    print(f"clock: {TICKS} ticks of {PERIOD_NS / 1e6:g} ms")
    poll = socket_poller()
    run("sleeping", None)
    run("polling sockets", poll)
    paused(poll)


if __name__ == "__main__":
    main()
