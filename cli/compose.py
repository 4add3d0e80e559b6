"""`diorama compose NAME=ENDPOINT ...`: join published scenes into one and publish that."""

import argparse
import sys

from diorama.cli.arguments import add_origin, count, endpoint, hertz, seconds
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, tell

ENDPOINT = "tcp://127.0.0.1:5565"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compose",
        help="join published scenes into one and publish that",
        description="Follow several published scenes and publish them as one: the entities of each source under\n"
        "an entity with its name. A source that falls silent is marked stale, later removed, and taken back when it\n"
        "returns. Ctrl-C ends it.",
        epilog="examples:\n"
        "  diorama compose north=tcp://127.0.0.1:5555 south=tcp://127.0.0.1:6555\n"
        "  diorama compose a=zenoh:?scene=a b=zenoh:?scene=b --endpoint zenoh:?scene=all",
    )
    parser.add_argument("sources", nargs="+", metavar="NAME=ENDPOINT", type=_source)
    parser.add_argument(
        "--endpoint", action="append", type=endpoint, help=f"where to publish (default {ENDPOINT})"
    )
    parser.add_argument(
        "--service", type=endpoint, metavar="ENDPOINT", help="where to answer questions (default: nowhere)"
    )
    parser.add_argument("--rate", type=hertz, default=50.0, help="updates a second (default 50)")
    parser.add_argument("--ticks", type=count, default=0, help="stop after so many updates (default: never)")
    parser.add_argument(
        "--stale-after", type=seconds, default=2.5, metavar="S", help="silence before stale (default 2.5 s)"
    )
    parser.add_argument(
        "--remove-after", type=seconds, default=10.0, metavar="S", help="stale before removed (default 10 s)"
    )
    parser.add_argument("--keys", metavar="DIR", help="CURVE keys of the publisher this is")
    parser.add_argument(
        "--insecure", action="store_true", help="allow binds that other machines reach, without keys"
    )
    add_json(parser, "say where it is published, and each source that comes or goes, as lines of JSON")
    add_origin(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compose until somebody stops it."""
    from contextlib import ExitStack

    from diorama.runtime.answer import answer
    from diorama.runtime.clock import SteppableClock, Tick
    from diorama.runtime.composite import Composite
    from diorama.runtime.simulation import Simulation
    from diorama.transport.publisher import Publisher
    from diorama.transport.security import load_server

    names = [name for name, _ in args.sources]
    if len(set(names)) != len(names):
        print("every source needs a name of its own", file=sys.stderr)
        return 2
    security = load_server(args.keys) if args.keys else None
    end_tidily()
    with ExitStack() as stack:
        composite = stack.enter_context(
            Composite(
                dict(args.sources),
                origin=args.origin,
                stale_after_s=args.stale_after,
                remove_after_s=args.remove_after,
                on_event=lambda source, state: tell(
                    args, {"source": source, "state": state}, f"{source} is {state}"
                ),
            )
        )
        publisher = stack.enter_context(
            Publisher(args.endpoint or [ENDPOINT], security=security, insecure=args.insecure)
        )
        simulation = Simulation(
            composite.world,
            publisher,
            clock=SteppableClock(round(1e9 / args.rate)),
            systems=[composite],
        )
        endpoints = list(publisher.endpoints)
        tell(args, {"endpoints": endpoints}, f"publishing at {', '.join(endpoints)}")
        if args.service:
            service = stack.enter_context(
                answer(simulation, args.service, security=security, insecure=args.insecure)
            )
            tell(args, {"service": service.endpoint}, f"answering at {service.endpoint}")

        def stop(tick: Tick) -> None:
            if args.ticks and tick.index + 1 >= args.ticks:
                simulation.stop()

        simulation.run(stop)
    return 0


def _source(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if not name or not equals or not address:
        raise argparse.ArgumentTypeError(f"expected NAME=ENDPOINT, got {text!r}")
    return name, endpoint(address)
