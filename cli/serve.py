"""`diorama serve FILE`: load a scene, tick it, publish it, answer questions about it."""

import argparse
import logging
import sys
from typing import TYPE_CHECKING

from diorama.cli.arguments import (
    ANSWERED_AT,
    PUBLISHED_AT,
    add_origin,
    add_reading,
    count,
    endpoint,
    folder,
    hertz,
    reading,
    some,
)
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, tell
from diorama.schemas.errors import DioramaError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from diorama.ecs import World
    from diorama.runtime.aerosim_bridge import AeroSimBridge
    from diorama.runtime.clock import Clock, Tick
    from diorama.runtime.simulation import Reporter, Simulation, System
    from diorama.transport.publisher import Publisher


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "serve",
        help="load a scene, tick it, publish it and answer questions about it",
        description="Load a scene file and run it: publish every tick, greet renderers that join, answer geo queries\n"
        "and commands. Ctrl-C ends it.",
        epilog="examples:\n"
        "  diorama serve examples/houston.scene.json\n"
        "  diorama serve examples/scene_harbour.jsonc --rate 100 --endpoint tcp://127.0.0.1:6000\n"
        "  diorama serve examples/yard.rscene --origin 47.37,8.54,408 --paused\n"
        "  diorama serve examples/houston.scene.json --perception examples/07_detections.yaml --ego generic_evtol_0\n"
        "  diorama serve robot.xml --envs 64 --ground\n"
        "then, in another terminal:\n"
        "  diorama topic list\n"
        "  diorama ask where NAME\n"
        "  diorama view",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--endpoint",
        action="append",
        type=endpoint,
        help=f"where to publish (default {PUBLISHED_AT}); may be repeated",
    )
    parser.add_argument(
        "--service",
        type=endpoint,
        metavar="ENDPOINT",
        help=f"where to answer questions and commands (default {ANSWERED_AT}, or a free port)",
    )
    parser.add_argument(
        "--scenes",
        type=folder,
        metavar="DIR",
        help="the directory that `reload` may load other files from (default: none)",
    )
    parser.add_argument(
        "--rate", type=hertz, help="ticks a second, in real time (default: the scene's clock, or 50)"
    )
    parser.add_argument("--ticks", type=count, default=0, help="stop after so many ticks (default: never)")
    parser.add_argument(
        "--paused", action="store_true", help="wait for `resume` or `step` before the first tick"
    )
    parser.add_argument(
        "--perception", metavar="FILE", help="publish what sensors perceive, by this ROS 2 parameter file"
    )
    parser.add_argument(
        "--ego",
        action="append",
        default=[],
        metavar="NAME",
        help="put a LiDAR on this entity; may be repeated",
    )
    parser.add_argument(
        "--keyframes", type=count, default=0, metavar="N", help="a complete scene to all every N updates"
    )
    parser.add_argument(
        "--json-decimals",
        action="store_true",
        help="complete JSON with fixed decimals: right to 0.05 mm, and three times as fast (extra fast)",
    )
    parser.add_argument(
        "--keys", metavar="DIR", help="CURVE keys made by `diorama keys`: only their holders get in"
    )
    parser.add_argument(
        "--insecure", action="store_true", help="allow binds that other machines reach, without keys"
    )
    parser.add_argument(
        "--aerosim",
        nargs="?",
        const="zenoh:",
        metavar="ENDPOINT",
        help="show the scene in AeroSim's renderers too: zenoh:... (default) or kafka://HOST:PORT",
    )
    parser.add_argument(
        "--renderer",
        action="append",
        default=[],
        metavar="ID",
        help="with --aerosim: wait for this renderer (default: those of the scene's viewports, or 0)",
    )
    parser.add_argument(
        "--still",
        action="store_true",
        help="move nothing: velocities, waypoints and rotors wait for your program",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_json(parser, "say where it is served as one line of JSON")
    parser.add_argument(
        "--verbose", action="store_true", help="log what loading does, such as the segmentation ids it gives"
    )
    robots = parser.add_argument_group("robots", "MJCF and URDF files are simulated (extra mujoco)")
    robots.add_argument("--envs", type=some, metavar="N", help="simulate so many copies (default 1)")
    robots.add_argument("--shown", type=some, metavar="N", help="publish only the first N of them")
    robots.add_argument("--ground", action="store_true", help="add an endless plane to stand on")
    add_origin(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the ticks are used up or somebody stops it."""
    from contextlib import ExitStack

    from diorama.runtime.answer import answer
    from diorama.runtime.simulation import Simulation
    from diorama.transport.publisher import Publisher
    from diorama.transport.security import load_server

    for option, needs in (
        (args.ego and not args.perception, "--ego needs --perception FILE"),
        (args.renderer and not args.aerosim, "--renderer needs --aerosim"),
    ):
        if option:
            print(needs, file=sys.stderr)
            return 2
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    if args.verbose:
        _log_segmentation()
    warnings: list[Problem] = []
    world, systems = _open(args, warnings)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    security = load_server(args.keys) if args.keys else None
    end_tidily()
    publisher = Publisher(
        args.endpoint or [PUBLISHED_AT],
        keyframe_interval=args.keyframes,
        security=security,
        insecure=args.insecure,
        json_decimals=args.json_decimals,
    )
    with ExitStack() as stack:
        stack.enter_context(publisher)
        simulation = Simulation(
            world,
            publisher,
            clock=_clock(args, world),
            systems=systems,
            reporters=_reporters(args, world, publisher),
        )
        service = answer(
            simulation,
            args.service,
            reload=lambda path: _reload(args, simulation, path),
            scenes=args.scenes,
            security=security,
            insecure=args.insecure,
        )
        stack.enter_context(service)
        if args.aerosim:
            stack.enter_context(_aerosim(args, simulation))
        if not args.quiet:
            _announce(args, simulation, service.endpoint)
        simulation.run(_stopper(simulation, args.ticks))
    return 0


def _reporters(args: argparse.Namespace, world: "World", publisher: "Publisher") -> "list[Reporter]":
    """What is published beside the scene."""
    reporters = [_airsim(publisher)]
    if args.perception:
        reporters.append(_perception(args, world, publisher))
    return reporters


def _reload(args: argparse.Namespace, simulation: "Simulation", path: "Path | None") -> None:
    """Go on with the file as it is now, or with another; when it is wrong, nothing changes."""
    from diorama.runtime.aerosim_bridge import AeroSimBridge

    again = argparse.Namespace(**{**vars(args), "quiet": True, "paused": False})
    if path is not None:
        again.file = str(path)
    world, systems = _open(again, [])
    clock = _clock(again, world) if isinstance(world.resource("clock"), dict) and not args.rate else None
    bridges = [reporter for reporter in simulation.reporters if isinstance(reporter, AeroSimBridge)]
    reporters: list[Reporter] = [*_reporters(again, world, simulation.publisher), *bridges]
    simulation.replace(world, systems, reporters, clock)
    args.file = again.file


def _open(args: argparse.Namespace, warnings: list[Problem]) -> "tuple[World, list[System]]":
    """The world of the file and what moves it: a robot's physics, or what its components say."""
    from diorama.cli.progress import Bar
    from diorama.runtime.load import format_of, load
    from diorama.runtime.motion import MOTION

    options = reading(args)
    if (options.get("format") or format_of(args.file)) != "mjcf":
        if args.envs or args.shown or args.ground:
            raise DioramaError(
                f"{args.file}: --envs, --shown and --ground are for robots (MJCF and URDF files)"
            )
        bar = Bar(sys.stderr)
        try:
            world = load(args.file, warnings=warnings, progress=bar, **options)
        finally:
            bar.clear()
        return world, [] if args.still else list(MOTION)
    from diorama.physics import open_model

    graph = open_model(args.file, envs=args.envs or 1, shown=args.shown, ground=args.ground)
    graph.world.origin = options.get("origin")
    return graph.world, [] if args.still else [graph.advance]


def _perception(args: argparse.Namespace, world: "World", publisher: "Publisher") -> "Reporter":
    from diorama.cli.scene import find
    from diorama.perception import read_parameters
    from diorama.runtime.perceive import perceive

    parameters = read_parameters(args.perception)
    egos = [world.name(find(world, name)) for name in args.ego]
    topics, reporter = perceive(world, parameters, egos=egos, listens=publisher.listens)
    if not (args.quiet or args.json):
        print(f"perceiving on {', '.join(topics)}")
    return reporter


def _airsim(publisher: "Publisher") -> "Reporter":
    """Poses, GPS and barometers on topics in the style of Project AirSim."""
    from diorama.runtime.airsim_topics import airsim_reports

    return lambda world, tick: airsim_reports(world, tick, publisher.listens)


def _aerosim(args: argparse.Namespace, simulation: "Simulation") -> "AeroSimBridge":
    """AeroSim's renderers, told of every tick. A scene that was a sim_config is sent to them as it was written."""
    from diorama.formats import jsonc
    from diorama.formats.files import read_file
    from diorama.runtime.aerosim_bridge import AeroSimBridge

    written = jsonc.parse(read_file(args.file), args.file).value if _is_json(args.file) else None
    is_config = isinstance(written, dict) and {"clock", "world", "renderers"} <= written.keys()
    bridge = AeroSimBridge(
        args.aerosim,
        simulation.world,
        renderers=args.renderer,
        sim_config=written if is_config else None,
        step_ns=getattr(simulation.clock, "step_ns", 20_000_000),
        insecure=args.insecure,
    )
    simulation.reporters = (*simulation.reporters, bridge)
    simulation.idlers.append(bridge.poll)
    if not (args.quiet or args.json):
        print(f"AeroSim's renderers {', '.join(bridge.renderers)} are awaited at {bridge.endpoint}")
    return bridge


def _is_json(file: str) -> bool:
    return file.endswith((".json", ".jsonc"))


def _clock(args: argparse.Namespace, world: "World") -> "Clock":
    from diorama.runtime.clock import SteppableClock, clock_from_settings

    settings = world.resource("clock")
    if args.rate or not isinstance(settings, dict):
        return SteppableClock(round(1e9 / (args.rate or 50.0)), pause_on_start=args.paused)
    clock = clock_from_settings(settings)
    if args.paused:
        clock.pause()
    return clock


def _log_segmentation() -> None:
    """Show the ids given at load, in the form Project AirSim's server logs them."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        logging.Formatter("[%(asctime)s:%(msecs)03d] %(message)s", datefmt="%Y.%m.%d-%H.%M.%S")
    )
    log = logging.getLogger("diorama.segmentation")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)


def _stopper(simulation: "Simulation", ticks: int) -> "Callable[[Tick], object] | None":
    """Stops the simulation after so many ticks."""
    if not ticks:
        return None

    def stop(tick: "Tick") -> None:
        if tick.index + 1 >= ticks:
            simulation.stop()

    return stop


def _announce(args: argparse.Namespace, simulation: "Simulation", service: str) -> None:
    endpoints, entities = list(simulation.publisher.endpoints), len(simulation.world)
    at = "" if PUBLISHED_AT in endpoints else f" --endpoint {endpoints[0]}"
    tell(
        args,
        {"file": args.file, "entities": entities, "endpoints": endpoints, "service": service},
        f"{args.file}: {entities} entities",
        simulation.clock.summary,
        f"publishing at {', '.join(endpoints)}",
        f"answering at {service}",
        f"try in another terminal:  diorama topic list{at}",
    )
