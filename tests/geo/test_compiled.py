"""Compiled functions, where there is a disk to keep them and where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba", reason="needs the extra fast")

CODE = """
from diorama.geo.compiled import compiled
@compiled(error_model="numpy")
def half(value):
    return value / 2
print(half(3.0))
"""


def test_without_a_place_to_keep_it_a_function_is_compiled_all_the_same() -> None:
    # A function that comes from no file is one numba has no place for: the same as a disk nobody may write.
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "1.5\n"


def test_what_was_compiled_is_kept_beside_its_module(tmp_path: Path) -> None:
    (tmp_path / "halves.py").write_text(CODE)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    subprocess.run(
        [sys.executable, "halves.py"], cwd=tmp_path, capture_output=True, check=True, env=environment
    )
    assert list((tmp_path / "__pycache__").glob("halves.half-*.nbi"))
