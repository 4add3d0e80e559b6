"""Files are replaced whole or not at all; what is no file is written to."""

import os
from pathlib import Path
from threading import Thread

import pytest

from diorama.formats.files import replace_file
from diorama.schemas.errors import SceneError


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    file.chmod(0o640)
    replace_file(file, b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link, dangling = tmp_path / "a.json", tmp_path / "link.json", tmp_path / "dangling.json"
    file.write_bytes(b"old")
    link.symlink_to(file)
    dangling.symlink_to("b.json")
    replace_file(link, b"new")
    replace_file(dangling, b"first")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert (file.read_bytes(), (tmp_path / "b.json").read_bytes()) == (b"new", b"first")


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """As root, who may replace anything, /dev/stdout and /dev/null would be files ever after."""
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    listener = Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    listener.start()
    replace_file(pipe, b"scene")
    listener.join(10.0)
    assert pipe.is_fifo()
    assert heard == [b"scene"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="expected a file, got a folder"):
        replace_file(tmp_path, b"")
