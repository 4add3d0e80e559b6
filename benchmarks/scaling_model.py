"""A model of bytes, CPU and latency against entities, rates, views, renderers and hosts, fitted to this machine.

    python benchmarks/scaling_model.py            measure, fit, print
    python benchmarks/scaling_model.py --write    and put the tables into docs/scaling.md

Each cost is fitted as a sum of non-negative terms by relative least squares; one point of each series, the largest
or a middle one, is left out of the fit and predicted instead. CPU times of processes count all their threads.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import numpy as np
from bench_columns import tree
from scipy.optimize import nnls

from diorama.ecs import World, propagate
from diorama.runtime.graft import Graft
from diorama.schemas.view import View
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.publisher import Publisher
from diorama.transport.views import Views

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
BEGIN, END = "<!-- measured: written by benchmarks/scaling_model.py -->", "<!-- end of measured -->"
COUNTS = (100, 1_000, 10_000, 30_000, 100_000)
LEFT_OUT = 30_000
ENTITY_BYTES = 84  # ten float64 and a row number
Point = tuple[tuple[float, ...], float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds as a sum of terms; `names` say what each coefficient (s) is for."""

    what: str
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    fit_error: float  # the largest relative error of the points that were fitted
    held_error: float  # of the one that was not

    def __call__(self, *terms: float) -> float:
        return float(np.dot(self.coefficients, (1.0, *terms)))


def fit(what: str, names: Sequence[str], points: Sequence[Point], held: Point) -> Cost:
    """Non-negative coefficients of 1 and the terms, least squares of relative errors."""
    terms = np.array([(1.0, *inputs) for inputs, _ in points])
    times = np.array([seconds for _, seconds in points])
    coefficients = nnls(terms / times[:, None], np.ones(len(times)))[0]
    errors = np.abs(terms @ coefficients / times - 1.0)
    predicted = float(np.dot(coefficients, (1.0, *held[0])))
    return Cost(
        what,
        ("each time", *names),
        tuple(coefficients.tolist()),
        float(errors.max()),
        predicted / held[1] - 1.0,
    )


def best(function: Callable[[], object], seconds: float = 0.6) -> float:
    """The shortest of many calls."""
    function()
    shortest, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or shortest == np.inf:
        begin = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - begin)
    return float(shortest)


# -- in one process ----------------------------------------------------------------------------------------------


def tick_costs() -> list[Cost]:
    """Moving, encoding, applying and grafting, everything moving."""
    series: dict[str, dict[int, float]] = {name: {} for name in ("propagate", "encode", "apply", "graft")}
    for count in COUNTS:
        world = tree(count)
        rows = world.forest.order().copy()
        complete = _complete(world)
        replica, joined = world_from_complete(codec.decode_columns(complete)), World()
        graft = Graft(joined, "part")
        propagate(replica)
        graft.take(replica)
        shortest = dict.fromkeys(series, np.inf)
        end = time.perf_counter() + 1.5
        while time.perf_counter() < end:
            world.transforms.position[rows, 0] += 1.0
            since = codec.Since(world.version, world.epoch)
            marks = [time.perf_counter()]
            propagate(world)
            marks.append(time.perf_counter())
            moved = codec.moved_rows(world, since)
            frames = [codec.NO_STRUCTURE, *codec.encode_blocks(world, "local", moved, moved[:0])]
            marks.append(time.perf_counter())
            apply_update(replica, codec.decode_columns(frames))
            propagate(replica)
            marks.append(time.perf_counter())
            graft.take(replica)
            marks.append(time.perf_counter())
            for name, spent in zip(series, np.diff(marks), strict=True):
                shortest[name] = min(shortest[name], float(spent))
        for name in series:
            series[name][count] = shortest[name]
    words = {
        "propagate": "resolve world poses and find what changed (publisher, composite)",
        "encode": "encode an update as columns",
        "apply": "apply it and resolve it (replica)",
        "graft": "copy it into a composite",
    }
    return [
        fit(
            words[name],
            ("each moving entity",),
            [((count,), seconds) for count, seconds in found.items() if count != LEFT_OUT],
            ((LEFT_OUT,), found[LEFT_OUT]),
        )
        for name, found in series.items()
    ]


def _complete(world: World) -> list[codec.Frame]:
    rows = world.forest.order()
    return [codec.encode_structure(world, rows, None), *codec.encode_blocks(world, "local", rows, rows[:0])]


def view_cost() -> Cost:
    """All views of a publisher, everything moving: by entities in the scene, views, and entities in views."""
    points: list[Point] = []
    held: Point | None = None
    for entities, views, inside in (
        (10_000, 10, 100),
        (10_000, 100, 100),
        (10_000, 100, 1000),
        (100_000, 10, 100),
        (100_000, 100, 1000),
        (100_000, 1000, 100),
        (30_000, 300, 300),
    ):
        world, wanted = _crowd(entities, views, inside)
        step = 0

        def update(world: World = world, wanted: Views = wanted, entities: int = entities) -> None:
            nonlocal step
            step += 1
            world.transforms.position[:entities, 0] += 0.01
            propagate(world)
            for _ in wanted.updates(world, step):
                pass

        def move(world: World = world, entities: int = entities) -> None:
            world.transforms.position[:entities, 0] += 0.01
            propagate(world)

        seconds = best(update, 2.0) - best(move, 0.5)
        members = sum(len(state.members) for _, state in wanted.states())
        point = ((float(entities), float(views), float(members)), seconds)
        if entities == LEFT_OUT:
            held = point
        else:
            points.append(point)
    assert held is not None
    names = ("each entity of the scene", "each view", "each entity in a view")
    return fit("find and encode all views", names, points, held)


def _crowd(entities: int, views: int, inside: int) -> tuple[World, Views]:
    random = np.random.default_rng(1)
    side = 10_000.0
    ground = np.zeros((entities, 3))
    ground[:, :2] = random.uniform(0, side, (entities, 2))
    world = World()
    world.insert(entities, position=ground)
    propagate(world)
    wanted = Views()
    radius = float(np.sqrt(inside / entities / np.pi) * side)
    for center in random.uniform(radius, side - radius, (views, 2)):
        wanted.want(View(near=(float(center[0]), float(center[1]), 0.0), radius=radius).topic, True)
    return world, wanted


# -- between processes -------------------------------------------------------------------------------------------

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


# -- what follows ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fleet:
    """A deployment: hosts publish `entities` together, composites share them (and the renderers) between themselves;
    each renderer follows everything, or a view of `inside` entities.
    """

    entities: int
    moving: float
    rate_hz: float
    hosts: int
    composites: int
    renderers: int
    inside: int  # 0: everything


FLEETS = (
    Fleet(10_000, 1.0, 50.0, 1, 1, 1, 0),
    Fleet(10_000, 1.0, 50.0, 1, 1, 10, 0),
    Fleet(100_000, 1.0, 50.0, 1, 1, 10, 0),
    Fleet(100_000, 0.1, 50.0, 10, 1, 10, 0),
    Fleet(100_000, 0.1, 50.0, 10, 1, 100, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 100, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 1000, 0),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 1000, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 4, 1000, 1000),
    Fleet(1_000_000, 1.0, 50.0, 100, 1, 1000, 1000),
    Fleet(1_000_000, 1.0, 50.0, 100, 40, 1000, 1000),
)


def load(fleet: Fleet, cost: Mapping[str, Cost]) -> dict[str, float]:
    """Shares of a core, gigabits a second and seconds, by who has to bear them.

    Resolving is reckoned for every entity, moving or not: what does not move is looked at too.
    """
    rate, hosts = fleet.rate_hz, fleet.hosts / fleet.composites
    entities, renderers = fleet.entities / fleet.composites, fleet.renderers / fleet.composites
    moving, own = entities * fleet.moving, entities / hosts
    source = cost["propagate"](own) + cost["encode"](own * fleet.moving)
    join = cost["propagate"](entities)
    if fleet.hosts > 1:
        join += hosts * (
            cost["apply"](own * fleet.moving) + cost["propagate"](own) + cost["graft"](own * fleet.moving)
        )
    seen = (fleet.inside if fleet.inside else entities) * fleet.moving
    encode = cost["encode"](moving)
    if fleet.inside:
        encode = cost["views"](entities, renderers, renderers * seen)
    size = seen * ENTITY_BYTES
    show = cost["apply"](seen) + cost["propagate"](fleet.inside or entities)
    return {
        "source": rate * source,
        "publisher": rate * (join + encode),
        "sending": rate * cost["zmq"](renderers, renderers * size),
        "gigabits": rate * renderers * size * 8e-9,
        "renderer": rate * show,
        "latency": source + join + encode + cost["latency"](size) + show,
    }


LIMITS = {
    "publisher": (1.0, "the publisher's tick (one thread)"),
    "sending": (1.0, "sending (one I/O thread)"),
    "gigabits": (10.0, "a 10 Gb/s network card"),
    "source": (1.0, "a source's tick"),
    "renderer": (1.0, "a renderer's replica"),
}


def breaks_first(found: Mapping[str, float]) -> str:
    share, what = max((found[name] / limit, words) for name, (limit, words) in LIMITS.items())
    return f"{what}, {share:.1f} times what there is" if share > 1.0 else f"nothing; {what} is at {share:.0%}"


def tables(costs: Mapping[str, Cost]) -> str:
    """The page's tables."""
    lines = [
        "| cost | coefficients | worst error of the fit | error of the point left out |",
        "|---|---|--:|--:|",
    ]
    for cost in costs.values():
        parts = [
            f"{_seconds(value)} {name}"
            for name, value in zip(cost.names, cost.coefficients, strict=True)
            if value > 0
        ]
        lines.append(f"| {cost.what} | {', '.join(parts)} | {cost.fit_error:.0%} | {cost.held_error:+.0%} |")
    heads = ("entities", "moving", "Hz", "hosts", "composites", "renderers", "each sees")
    heads += ("source", "publisher", "sending", "Gb/s", "renderer", "latency", "first to break")
    lines += ["", f"| {' | '.join(heads)} |", "|--:" * (len(heads) - 1) + "|---|"]
    for fleet in FLEETS:
        found = load(fleet, costs)
        cells = (
            f"{fleet.entities:,}",
            f"{fleet.moving:.0%}",
            f"{fleet.rate_hz:.0f}",
            f"{fleet.hosts}",
            f"{fleet.composites}",
            f"{fleet.renderers:,}",
            f"{fleet.inside:,}" if fleet.inside else "all",
            f"{found['source']:.1%}",
            f"{found['publisher']:.0%}",
            f"{found['sending']:.0%}",
            f"{found['gigabits']:.2f}",
            f"{found['renderer']:.1%}",
            f"{found['latency'] * 1e3:.1f} ms",
            breaks_first(found),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(value: float) -> str:
    for unit, factor in (("ms", 1e3), ("µs", 1e6), ("ns", 1e9), ("ps", 1e12)):
        if value * factor >= 1.0 or unit == "ps":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    propagation, encoding, applying, grafting = tick_costs()
    views = view_cost()
    (zmq, zenoh, uplink, router), latency = sending_costs()
    costs = {
        "propagate": propagation,
        "encode": encoding,
        "apply": applying,
        "graft": grafting,
        "views": views,
        "zmq": zmq,
        "zenoh": zenoh,
        "uplink": uplink,
        "router": router,
        "latency": latency,
    }
    text = tables(costs)
    print(text)
    if args.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
