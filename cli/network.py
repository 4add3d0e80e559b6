"""`diorama router` and `diorama who`: scenes on several machines, over zenoh (extra zenoh)."""

import argparse
import sys
from threading import Event

from diorama.cli.arguments import endpoint, seconds
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, json_text, tell

ADDRESS = "tcp/127.0.0.1:7447"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands."""
    _add_router(subparsers)
    _add_who(subparsers)


def _add_router(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "router",
        help="pass scenes on between machines (zenoh)",
        description="Run a zenoh router: publishers, replicas and clients on any machine connect to it,\n"
        "and need not know each other. Ctrl-C ends it.",
        epilog="examples:\n"
        "  diorama router                                     on this machine, tcp/127.0.0.1:7447\n"
        "  diorama router --listen tcp/0.0.0.0:7447 --users users.txt\n"
        "  diorama router --listen tls/0.0.0.0:7447 --ca ca.pem --cert router.pem --key router.key\n"
        "then, anywhere:\n"
        "  diorama serve examples/houston.scene.json --endpoint zenoh:tcp/HOST:7447\n"
        "  diorama topic list --endpoint zenoh:tcp/HOST:7447",
    )
    parser.add_argument(
        "--listen",
        action="append",
        metavar="ADDRESS",
        help=f"where others connect to (default {ADDRESS}); may be repeated",
    )
    parser.add_argument(
        "--connect",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="another router to join; may be repeated",
    )
    parser.add_argument("--users", metavar="FILE", help="who gets in, a line `name:password` each")
    parser.add_argument(
        "--ca", metavar="FILE", help="PEM certificate of the authority that clients must have"
    )
    parser.add_argument("--cert", metavar="FILE", help="PEM certificate of this router, for tls/ and quic/")
    parser.add_argument("--key", metavar="FILE", help="PEM key of that certificate")
    parser.add_argument(
        "--insecure", action="store_true", help="let in anybody who reaches an address of this machine"
    )
    add_json(parser, "say where it routes as one line of JSON")
    parser.set_defaults(run=run_router)


def _add_who(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "who",
        help="who publishes, listens and answers on a zenoh network",
        description="Print every publisher, listener and service that is there, and with --follow each that comes\n"
        "or goes, as lines: + or -, scene, kind, topic or name.",
        epilog="examples:\n"
        "  diorama who\n"
        "  diorama who zenoh:tcp/HOST:7447 --follow\n"
        "  diorama who --json | jq .scene",
    )
    parser.add_argument(
        "endpoint", nargs="?", type=endpoint, default="zenoh:", help="(default zenoh:, this machine)"
    )
    parser.add_argument("--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument(
        "--timeout", type=seconds, default=2.0, metavar="S", help="how long to look (default 2 s)"
    )
    add_json(parser, "print each as one line of JSON")
    parser.set_defaults(run=run_who)


def run_router(args: argparse.Namespace) -> int:
    """Route until somebody stops it."""
    from diorama.transport.zenoh_endpoint import checked_router
    from diorama.transport.zenoh_session import close_session, open_router

    given = {"users_file": args.users, "ca": args.ca, "cert": args.cert, "key": args.key}
    endpoint = checked_router(
        tuple(args.listen or [ADDRESS]),
        tuple(args.connect),
        {name: value for name, value in given.items() if value},
    )
    end_tidily()
    session = open_router(endpoint, insecure=args.insecure)
    try:
        tell(args, {"listen": list(session.listen)}, f"routing at {', '.join(session.listen)}")
        Event().wait()
    finally:
        close_session(session)
    return 0


def run_who(args: argparse.Namespace) -> int:
    """Print who is there."""
    from diorama.transport.zenoh_presence import presences

    seen = False
    for presence in presences(args.endpoint, None if args.follow else args.timeout):
        seen = True
        if args.json:
            print(json_text(presence), flush=True)
            continue
        sign = "+" if presence.is_there else "-"
        print(f"{sign} {presence.scene} {presence.kind} {presence.what}", flush=True)
    if not seen:
        print("nobody is there", file=sys.stderr)
    return 0
