"""The parser of every command: examples stay as they were typed, and a wrong word gets a suggestion."""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from diorama.schemas.errors import did_you_mean

_WRONG_CHOICE = re.compile(r"(?P<before>.*invalid choice: '(?P<wrong>[^']*)').*", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one sentence and the command that explains more."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call, and end with 2."""
        found = _WRONG_CHOICE.fullmatch(message)
        if found:
            known = self._known_choices(found["before"])
            message = found["before"] + (
                did_you_mean(found["wrong"], known) or f"; expected one of {', '.join(known)}"
            )
        elif message.startswith("unrecognized arguments: -"):
            wrong = message.partition(": ")[2].split()[0].partition("=")[0]
            message += did_you_mean(wrong, self._option_string_actions)
        print(f"{self.prog}: {message}\nsee: {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Nothing is left for others to know: an unknown argument is an error of the command it was given to."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _known_choices(self, before: str) -> list[str]:
        """The choices of the argument that a message of argparse names first."""
        for action in self._actions:
            names = [*action.option_strings, str(action.metavar or action.dest)]
            if action.choices and any(
                f"argument {name}" in before for name in ("/".join(names[:-1]), *names)
            ):
                return [str(choice) for choice in action.choices]
        return []


def add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    description: str,
    examples: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a command with a line for the list, a description and examples."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}\n",
    )
    parser.set_defaults(run=run)
    return parser
