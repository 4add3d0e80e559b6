"""How long a test waits for what must come: by the clock, since turns of a loop say nothing about a busy machine."""

from collections.abc import Iterator
from time import monotonic

PATIENCE_S = 60.0  # a failure either way, and less than a test may take
PATIENCE_MS = 60_000


def patiently() -> Iterator[None]:
    """`for _ in patiently():` goes round until patience ends; what comes after it is the failure."""
    deadline = monotonic() + PATIENCE_S
    while monotonic() < deadline:
        yield
