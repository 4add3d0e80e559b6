"""A bar on the terminal for what takes longer than half a second."""

from collections.abc import Callable
from time import monotonic
from typing import TextIO

PATIENCE_S = 0.5
BETWEEN_S = 0.05
WIDTH = 30


class Bar:
    """Called with (what, done, total); draws on a terminal only, and is gone when all is done."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = monotonic) -> None:
        self._stream = stream
        self._now = now
        self._next = now() + PATIENCE_S
        self._drawn = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Draw, if it is time to."""
        if done >= total:
            self.clear()
        elif self._now() >= self._next and self._stream.isatty():
            self._next = self._now() + BETWEEN_S
            self._drawn = True
            full = WIDTH * done // total
            self._stream.write(f"\r\x1b[K{what}  {'█' * full}{'░' * (WIDTH - full)}  {done}/{total}")
            self._stream.flush()

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._drawn = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()
