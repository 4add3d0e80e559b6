"""Colours on terminals, and nowhere else: not in pipes and files, and not where NO_COLOR is set."""

import os
from typing import TextIO

CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour, if whoever reads the stream wants colours."""
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if text and wants_colour(stream) else text


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and its user has not refused them (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()
