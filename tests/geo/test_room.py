"""The room as a whole: light to enter, and complete without numba."""

import subprocess
import sys

from diorama import geo


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_entering_loads_neither_proj_nor_numba() -> None:
    code = """
import sys
import diorama.geo
print(*[name for name in ("pyproj", "numba", "scipy") if name in sys.modules])
"""
    assert run(code).split() == []


def test_without_numba_the_numpy_path_does_it_and_asking_for_the_other_names_the_extra() -> None:
    code = """
import sys
sys.modules["numba"] = None
import numpy as np
from diorama.geo import Origin, locate_block
from diorama.schemas.errors import MissingExtraError
ned, ecef, lla = np.zeros((1000, 3)), np.empty((1000, 3)), np.empty((1000, 3))
locate_block(ned, Origin(10.0, 20.0, 30.0), ecef, lla)
print(np.abs(lla - (10.0, 20.0, 30.0)).max() < 1e-8)
try:
    locate_block(ned, Origin(10.0, 20.0, 30.0), ecef, lla, fast=True)
except MissingExtraError as error:
    print(error)
"""
    lines = run(code).splitlines()
    assert lines[0] == "True"
    assert "pip install 'diorama[fast]'" in lines[1]


def test_numba_is_loaded_for_blocks_that_are_worth_it_and_never_when_told_not_to() -> None:
    code = """
import sys
import numpy as np
from diorama.geo import Origin, locate_block
from diorama.geo.convert import WORTH_COMPILING
for count, fast in ((WORTH_COMPILING - 1, None), (WORTH_COMPILING, False), (WORTH_COMPILING, None)):
    ned, ecef, lla = (np.zeros((count, 3)) for _ in range(3))
    locate_block(ned, Origin(10.0, 20.0, 30.0), ecef, lla, fast=fast)
    print("numba" in sys.modules)
"""
    assert run(code).split() == ["False", "False", "True"]


def test_every_public_name_is_there_once() -> None:
    assert len(set(geo.__all__)) == len(geo.__all__)
    for name in geo.__all__:
        assert getattr(geo, name) is not None
