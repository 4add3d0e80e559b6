"""The command `diorama`: finds the family of the command and runs it.

A family is a module of this folder with `add_parser(subparsers)`, which adds its commands and sets `run` on each,
and a line in FAMILIES. Families import what they need when they run, so that `--help` is there at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import diorama
from diorama.schemas.errors import DioramaError

FAMILIES = (
    "scene",
    "geo",
    "serve",
    "control",
    "topic",
    "ask",
    "keys",
    "demo",
    "view",
    "record",
    "network",
    "compose",
    "shot",
)

DESCRIPTION = """\
A scene graph of entities and components that knows where on Earth it is.
"""

EXAMPLES = """\
examples:
  diorama check houston.scene.json               everything that is wrong with a scene, with line numbers
  diorama tree houston.scene.json                who hangs under whom
  diorama where houston.scene.json evtol_0       where things are: NED, latitude-longitude-altitude, ECEF
  diorama convert sim_config.json scene.json     one format to another
  diorama geo --from lla --to ned --origin 29.59,-95.16,0 29.6,-95.2,100

`diorama COMMAND --help` says more about each. Exit code 0: fine; 1: the input is wrong; 2: the call is wrong.
"""

INTERRUPTED = 130  # what shells expect after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 wrong input, 2 a wrong call."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help(sys.stderr)
        return 2
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except DioramaError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (such as `head`) has seen enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def build_parser() -> argparse.ArgumentParser:
    """The parser with the commands of all families."""
    parser = argparse.ArgumentParser(
        prog="diorama",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"diorama {diorama.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for family in FAMILIES:
        import_module(f"diorama.cli.{family}").add_parser(subparsers)
    return parser
