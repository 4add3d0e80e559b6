"""`diorama demo`: a scene worth seeing, served, published and shown in the browser."""

import argparse
import json
import logging
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from diorama.cli.arguments import ANSWERED_AT, PUBLISHED_AT, count, endpoint, hertz, port
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from diorama.runtime.clock import Tick
    from diorama.runtime.demo import Demo
    from diorama.runtime.simulation import Simulation
    from diorama.transport.publisher import Publisher

REPORT_S = 5.0
# Announced no earlier: on a new machine the first ticks and the first scan compile for seconds, and nobody answers.
READY_NS = 200_000_000


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        help="serve a scene worth seeing, and show it",
        description="Serve an air-taxi port near Houston: eVTOLs, helicopters, cars, cameras, a LiDAR, a small city.\n"
        "It is published like any other scene, so everything else can follow it. Ctrl-C ends everything.",
        epilog="examples:\n"
        "  diorama demo\n"
        "  diorama demo --entities 10000\n"
        "  diorama demo --headless --ticks 500\n"
        "then, in another terminal:\n"
        "  diorama topic list\n"
        "  diorama ask where evtol_0",
    )
    parser.add_argument(
        "--entities", type=count, default=0, metavar="N", help="fill up with a swarm of drones to N entities"
    )
    parser.add_argument(
        "--endpoint", type=endpoint, default=PUBLISHED_AT, help=f"where to publish (default {PUBLISHED_AT})"
    )
    parser.add_argument(
        "--service", type=endpoint, help="where to answer (default tcp://127.0.0.1:5556, or a free port)"
    )
    parser.add_argument("--rate", type=hertz, default=50.0, help="ticks a second (default 50)")
    parser.add_argument("--ticks", type=count, default=0, help="stop after so many ticks (default: never)")
    parser.add_argument(
        "--port", type=port, default=8080, help="port of the page (default 8080, or the next free one)"
    )
    parser.add_argument("--headless", action="store_true", help="only publish: no page")
    add_json(parser, "say where everything is as one line of JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo until Ctrl-C or until the ticks are used up."""
    from diorama.runtime.answer import answer
    from diorama.runtime.clock import SteppableClock
    from diorama.runtime.demo import demo
    from diorama.runtime.simulation import Simulation

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    scene = demo(args.entities)
    end_tidily()
    with _publisher(args.endpoint) as publisher:
        simulation = Simulation(
            scene.world,
            publisher,
            clock=SteppableClock(round(1e9 / args.rate)),
            systems=scene.systems,
            reporters=scene.reporters,
        )
        with (
            answer(simulation, args.service, topics_too=scene.perception.topics) as service,
            ExitStack() as page,
        ):
            shown = _page(publisher.endpoint, service.endpoint, args.port)
            url = "" if args.headless else page.enter_context(shown)

            def announce() -> None:
                told = {"entities": len(scene.world), "endpoint": publisher.endpoint}
                told |= {"service": service.endpoint, "page": url or None}
                tell(args, told, *_announcement(scene, simulation, args.rate, url, service.endpoint))

            report = sys.stdout.isatty() and not args.json
            simulation.run(_on_tick(simulation, args.ticks, announce, report=report))
    return 0


@contextmanager
def _page(endpoint: str, service: str, port: int) -> "Iterator[str]":
    """The viewer, in a process of its own that ends with this one; gives the address of the page, or nothing."""
    import subprocess
    from importlib.util import find_spec

    if find_spec("viser") is None:
        print(
            "  no page: the viewer is not installed; get it with: pip install 'diorama[viewer]'",
            file=sys.stderr,
        )
        yield ""
        return
    command = [
        sys.executable,
        "-m",
        "diorama.cli",
        "view",
        endpoint,
        "--service",
        service,
        "--port",
        str(port),
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()  # nothing, if it ended; then it has said why
        yield str(json.loads(line)["page"]) if line else ""
    finally:
        process.terminate()
        process.wait()


def _publisher(endpoint: str) -> "Publisher":
    """A publisher at the endpoint, or at a free port when the usual one is taken and none was asked for."""
    from diorama.schemas.errors import DioramaError
    from diorama.transport.publisher import Publisher

    try:
        return Publisher(endpoint)
    except DioramaError:
        if endpoint != PUBLISHED_AT:
            raise
        return Publisher("tcp://127.0.0.1:*")


def _on_tick(
    simulation: "Simulation", ticks: int, announce: "Callable[[], None]", *, report: bool
) -> "Callable[[Tick], None]":
    """Announces when everything has happened once, says now and then how it goes, and stops after so many."""
    from time import monotonic

    announced, shown = False, monotonic()

    def on_tick(tick: "Tick") -> None:
        nonlocal announced, shown
        is_last = bool(ticks) and tick.index + 1 >= ticks
        if not announced and (is_last or tick.time_ns + tick.step_ns >= READY_NS):
            announced = True
            announce()
        if is_last:
            simulation.stop()
        if report and monotonic() - shown > REPORT_S:
            shown = monotonic()
            _report(simulation, tick)

    return on_tick


def _report(simulation: "Simulation", tick: "Tick") -> None:
    done = simulation.publisher.statistics
    factor = simulation.clock.measured_factor or 1.0
    print(
        f"\r  {tick.time_s:7.1f} s   tick {tick.index}   {factor:.2f} × real time   "
        f"{done.joins} joined   {done.bytes_sent / 1e6:.1f} MB sent ",
        end="",
        flush=True,
    )


def _announcement(
    scene: "Demo", simulation: "Simulation", rate: float, url: str, service: str
) -> "Iterator[str]":
    from diorama.schemas import topics

    world, endpoint = scene.world, simulation.publisher.endpoint
    perceived = [name.strip("/") + "/" for name in scene.perception.topics]
    each = f"{rate:g} Hz"
    rows = [
        (topics.SCENE_LOCAL, each, "structure, then poses in columns (what a Replica follows)"),
        (topics.SCENE_WORLD, each, "world poses"),
        (topics.SCENE_GEO, each, "ECEF and latitude, longitude, altitude"),
        (topics.SCENE_JSON, each, "the whole scene document"),
        (topics.SCENE_CHANGES, each, "what changed, as JSON"),
        (topics.CLOCK, each, "tick and simulation time"),
        (topics.HEARTBEAT, "1 Hz", "sign of life, while paused too"),
        *((f"/{name}", "10 Hz", "what the LiDAR on car_0 reports") for name in perceived[:1]),
        *((f"/{name}", "10 Hz", "what is really there") for name in perceived[1:]),
    ]
    widest = max(len(name) for name, _, _ in rows)
    yield f"\n  diorama demo · {len(world)} entities near Houston, {world.origin.lla if world.origin else ''}"
    yield f"  {simulation.clock.summary}\n"
    yield f"  published at {endpoint}"
    yield from (f"    {name.ljust(widest)}  {hz:>6}  {about}" for name, hz, about in rows)
    if url:
        yield f"\n  in the browser: {url}"
    at = "" if endpoint == PUBLISHED_AT else f" --endpoint {endpoint}"
    asked = "" if service == ANSWERED_AT else f" --service {service}"
    yield "\n  try in another terminal"
    yield f"    diorama topic hz scene/local{at}"
    yield f"    diorama topic echo clock{at}"
    yield f"    diorama ask where evtol_0{asked}"
    yield f"    diorama view {endpoint}"
    yield "\n  Ctrl-C ends everything"
