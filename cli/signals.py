"""How a command ends when it is told to, by Ctrl-C or `kill`: at once, or tidily once it holds something.

An exception in the middle of an import makes numpy say that it is broken, and crashes other compiled libraries. So
while a command gets ready, and in those that only look, nothing is raised: the process ends. A command that writes a
file, binds a socket or starts a process says `end_tidily` first.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType
from typing import Any

INTERRUPTED = 130  # what shells expect after Ctrl-C
TERMINATED = 143  # and after `kill`
AGAIN_S = 0.05
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


@contextmanager
def obeyed() -> Iterator[None]:
    """Obey both signals within; afterwards they do what they did before."""
    if current_thread() is not main_thread():
        yield  # only the main thread may choose
        return
    before, hook = {number: signal.getsignal(number) for number in _CODES}, sys.unraisablehook
    for number in _CODES:
        if before[number] is not signal.SIG_IGN:  # as for a job in the background of a script
            signal.signal(number, _end_at_once)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def end_tidily() -> None:
    """From here on the signals are exceptions, so that files, sockets and processes are closed."""
    for number in _CODES:
        if signal.getsignal(number) is _end_at_once:
            signal.signal(number, _raise)
            sys.unraisablehook = _raise_again


def _end_at_once(number: int, _: FrameType | None) -> None:
    os._exit(_CODES[signal.Signals(number)])


def _raise(number: int, _: FrameType | None) -> None:
    # What is being closed is not disturbed by `kill`; not SIG_IGN, with which a signal on its way is an error.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(TERMINATED)


def _raise_again(ignored: Any) -> None:
    """What was raised where nothing can be, such as in a callback of numba's compiler, comes again a little later."""
    if not isinstance(ignored.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(ignored)
        return
    number = signal.SIGINT if isinstance(ignored.exc_value, KeyboardInterrupt) else signal.SIGTERM
    signal.signal(number, _raise)
    Timer(AGAIN_S, os.kill, (os.getpid(), number)).start()
