"""What a command says: lines for people, or one line of JSON for programs."""

import argparse
from collections.abc import Mapping
from typing import Any


def add_json(parser: argparse.ArgumentParser, about: str) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help=about)


def tell(args: argparse.Namespace, facts: Mapping[str, Any], *lines: str) -> None:
    """Print the facts as one line of JSON if that was asked for, or else the lines; at once, whoever reads them."""
    print(json_text(facts) if args.json else "\n".join(lines), flush=True)


def json_text(value: Any, *, indented: bool = False) -> str:
    """A value, with arrays and numbers as names, as JSON."""
    import orjson

    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, option=options | (orjson.OPT_INDENT_2 if indented else 0)).decode()
