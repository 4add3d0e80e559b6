"""Bytes from and to disk, with errors in our words; a file is replaced whole or not at all."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from diorama.schemas.errors import Problem, SceneError, reason


def read_file(path: str | Path) -> bytes:
    """All bytes of a file; SceneError when it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SceneError(Problem(reason(error), file=str(path))) from None


def replace_file(path: str | Path, data: bytes) -> None:
    """Write a file; should anything go wrong, the one that was there stays as it was."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            # A pipe or a device, such as /dev/stdout, is written to and never replaced.
            Path(path).write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)  # the file that a link leads to, not the link
    except OSError as error:
        raise SceneError(Problem(reason(error), file=str(path))) from None


def _replace(target: Path, data: bytes) -> None:
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
