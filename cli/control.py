"""`diorama pause|resume|step|load`: control a running simulation."""

import argparse
import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from diorama.cli.arguments import add_service, client_security, seconds, some
from diorama.cli.tell import add_json, tell

if TYPE_CHECKING:
    from diorama.transport.client import Client

Do = Callable[["Client", argparse.Namespace], None]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands."""
    _command(subparsers, "pause", "stop the clock of a running simulation", _pause, "diorama pause")
    _command(subparsers, "resume", "let the clock of a running simulation run", _resume, "diorama resume")
    step = _command(
        subparsers, "step", "run some ticks, or for a simulated time, then pause", _step, "diorama step 10"
    )
    step.add_argument("ticks", type=some, nargs="?", metavar="TICKS", help="how many (default 1)")
    step.add_argument("--seconds", type=seconds, metavar="S", help="so much simulated time instead")
    load = _command(
        subparsers,
        "load",
        "let a running simulation go on with another scene file; a bad one changes nothing",
        _load,
        "diorama load scene_harbour.jsonc",
    )
    load.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="in the folder `serve --scenes` names (default: the file that runs)",
    )


def run(args: argparse.Namespace) -> int:
    """Do it, and say what the clock shows then."""
    from diorama.transport.client import Client

    if args.do is _step and args.ticks is not None and args.seconds is not None:
        print("expected TICKS or --seconds S, one of the two", file=sys.stderr)
        return 2
    with Client(args.service, timeout_s=args.timeout, security=client_security(args)) as client:
        args.do(client, args)
        clock = _after_steps(client, args.timeout) if args.do is _step else client.clock()
    state = "paused" if clock["is_paused"] else "running"
    factor = clock["real_time_factor"]
    pace = f", {factor:.2g} times real time" if factor is not None and not clock["is_paused"] else ""
    late = f", {clock['late_ticks']} ticks late" if clock["late_ticks"] else ""
    tell(args, clock, f"{state} at {clock['time_ns'] * 1e-9:.9g} s after {clock['ticks']} ticks{pace}{late}")
    return 0


def _pause(client: "Client", args: argparse.Namespace) -> None:  # noqa: ARG001
    client.pause()


def _resume(client: "Client", args: argparse.Namespace) -> None:  # noqa: ARG001
    client.resume()


def _step(client: "Client", args: argparse.Namespace) -> None:
    if args.seconds is None:
        client.step(args.ticks or 1)
    else:
        client.continue_for(round(args.seconds * 1e9))


def _after_steps(client: "Client", timeout_s: float) -> dict[str, Any]:
    """What the clock shows once it pauses, or when nobody wants to wait any longer."""
    end = monotonic() + timeout_s
    while not (clock := client.clock())["is_paused"] and monotonic() < end:
        sleep(0.01)
    return clock


def _load(client: "Client", args: argparse.Namespace) -> None:
    client.reload(args.file)


def _command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    do: Do,
    example: str,
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {example}",
    )
    add_service(parser, timeout_s=10.0)
    add_json(parser, "print what the clock shows as one line of JSON")
    parser.set_defaults(run=run, do=do)
    return parser
