"""`diorama keys DIRECTORY`: CURVE keys for a server and its clients."""

import argparse

from diorama.cli.tell import add_json, tell

EXAMPLES = """\
examples:
  diorama keys ~/keys                     a server and one client, called `client`
  diorama keys ~/keys renderer planner    a server (unless it is there) and two clients
  diorama serve examples/houston.scene.json --endpoint tcp://0.0.0.0:5555 --keys ~/keys
  diorama ask where evtol_0 --service tcp://simulator:5556 --keys ~/keys --client planner

server.key_secret and clients/ belong on the server; NAME.key_secret and server.key on that client's machine.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "keys",
        help="make CURVE keys for a server and its clients",
        description="Make keys, so that a simulation can be reached from other machines by whom you choose.\n"
        "Secret keys are readable by you only (mode 600); an existing key is never overwritten.",
        epilog=EXAMPLES,
    )
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument(
        "clients", nargs="*", default=["client"], metavar="CLIENT", help="names of clients (default: client)"
    )
    add_json(parser, "print the names of the files as one line of JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the keys and name the files."""
    from diorama.transport.security import make_keys

    files = [str(path) for path in make_keys(args.directory, tuple(args.clients))]
    tell(args, {"files": files}, *files)
    return 0
