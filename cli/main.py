"""The command `diorama`: finds the family of the command and runs it.

A family is a module of this folder with `add_parser(subparsers)`, which adds its commands and sets `run` on each,
and a line in FAMILIES. Families import what they need when they run, so that `--help` is there at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import diorama
from diorama.cli.colour import paint
from diorama.cli.parser import Parser
from diorama.cli.signals import INTERRUPTED, obeyed
from diorama.schemas.errors import DioramaError, reason

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
    "completion",
)

DESCRIPTION = """\
A scene graph of entities and components that knows where on Earth it is.
"""

EXAMPLES = """\
examples:
  diorama demo                                   something to see: serves a scene and shows it in the browser
  diorama check examples/houston.scene.json      everything that is wrong with a scene, with line numbers
  diorama tree examples/houston.scene.json       who hangs under whom
  diorama where examples/houston.scene.json      where things are: NED, latitude-longitude-altitude, ECEF
  diorama convert examples/yard.rscene yard.json   one format to another
  diorama geo --from lla --to ned --origin 29.59,-95.16,0 29.6,-95.2,100

`diorama COMMAND --help` says more about each. Exit code 0: fine; 1: the input is wrong; 2: the call is wrong.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 wrong input, 2 a wrong call."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: what nobody reads may still be said
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (for as long as we live)
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # here, where a closed pipe is still an error like others
    except DioramaError as error:
        print(paint(str(error), "red", sys.stderr), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (such as `head`) has seen enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(paint(_sentence(error), "red", sys.stderr), file=sys.stderr)
        return 1


def _run(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help(sys.stderr)
        return 2
    with obeyed():
        code: int = args.run(args)
    return code


def _sentence(error: OSError) -> str:
    return f"{error.filename}: {reason(error)}" if isinstance(error.filename, str) else reason(error)


def build_parser() -> argparse.ArgumentParser:
    """The parser with the commands of all families."""
    parser = Parser(prog="diorama", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"diorama {diorama.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for family in FAMILIES:
        import_module(f"diorama.cli.{family}").add_parser(subparsers)
    return parser
