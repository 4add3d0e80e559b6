"""Bytes from and to disk, with errors in our words; a file is replaced whole or not at all."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from diorama.schemas.errors import Problem, SceneError


def read_file(path: str | Path) -> bytes:
    """All bytes of a file; SceneError when it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SceneError(Problem(_reason(error), file=str(path))) from None


def replace_file(path: str | Path, data: bytes) -> None:
    """Write a file; should anything go wrong, the one that was there stays as it was."""
    target = Path(path)
    handle, name = -1, ""
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except OSError as error:
        if name:
            with suppress(OSError):
                Path(name).unlink()
        raise SceneError(Problem(_reason(error), file=str(path))) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, IsADirectoryError):
        return "expected a file, got a folder"
    return (error.strerror or str(error)).lower()
