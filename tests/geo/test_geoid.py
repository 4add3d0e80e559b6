"""Heights above the sea: a grid made here, and a refusal where there is none."""

import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from diorama.geo.geoid import geoid_height, lla_from_msl, msl_from_lla
from diorama.schemas.errors import GeoError

FLOAT32_METRES = 1e-5


def write_gtx(path: Path, first: tuple[float, float], step: float, rows: int, columns: int) -> Path:
    """A grid of heights 30 + latitude / 10 + longitude / 100: linear, so that interpolation gives it exactly."""
    latitude = first[0] + step * np.arange(rows)
    longitude = first[1] + step * np.arange(columns)
    heights = 30.0 + latitude[:, None] / 10.0 + longitude[None, :] / 100.0
    path.write_bytes(
        struct.pack(">ddddii", *first, step, step, rows, columns) + heights.astype(">f4").tobytes()
    )
    return path


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    return write_gtx(tmp_path / "my own grid.gtx", (-10.0, 100.0), 1.0, 21, 41)


def test_a_grid_file_gives_its_heights(grid: Path) -> None:
    lla = np.array([[0.0, 120.0, 500.0], [5.5, 110.25, -3.0]])
    expected = 30.0 + lla[:, 0] / 10.0 + lla[:, 1] / 100.0
    np.testing.assert_allclose(geoid_height(lla, grid), expected, rtol=0.0, atol=FLOAT32_METRES)


def test_a_grid_file_is_found_from_the_folder_one_is_in(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(grid.parent)
    assert geoid_height((0.0, 120.0, 0.0), grid.name) == pytest.approx(31.2, abs=FLOAT32_METRES)
    other = grid.parent / "other"
    other.mkdir()
    write_gtx(other / grid.name, (-10.0, 110.0), 1.0, 21, 5)  # another one of the same name
    monkeypatch.chdir(other)
    with pytest.raises(GeoError, match="expected a place covered by the geoid grid"):
        geoid_height((0.0, 120.0, 0.0), grid.name)


def test_the_ellipsoid_lies_below_where_the_geoid_is_high(grid: Path) -> None:
    lla = lla_from_msl((0.0, 120.0, 100.0), grid)
    np.testing.assert_allclose(lla, (0.0, 120.0, 131.2), rtol=0.0, atol=FLOAT32_METRES)
    np.testing.assert_allclose(msl_from_lla(lla, grid), (0.0, 120.0, 100.0), rtol=0.0, atol=1e-12)
    assert msl_from_lla([], grid).shape == (0, 3)
    assert geoid_height((0.0, 120.0, 0.0), str(grid)).shape == ()


def test_a_place_outside_the_grid_is_refused(grid: Path) -> None:
    with pytest.raises(
        GeoError, match=r"lla point 1: expected a place covered by the geoid grid .*, got \(50, 8, 0\)"
    ):
        geoid_height([[0.0, 120.0, 0.0], [50.0, 8.0, 0.0]], grid)


def test_a_file_that_is_no_grid_and_no_file_at_all_are_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("no grid")
    with pytest.raises(GeoError, match="expected a vertical grid that PROJ reads"):
        geoid_height((0, 0, 0), tmp_path / "readme.txt")
    with pytest.raises(
        GeoError, match=r"geoid egm97: expected egm96, egm2008 or a grid file.*did you mean 'egm96'"
    ):
        geoid_height((0, 0, 0), "egm97")


def run(code: str) -> str:
    """Run a program of its own: where PROJ looks for grids is a setting of the process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_without_a_grid_the_height_is_refused_not_returned_unchanged(tmp_path: Path) -> None:
    # Only PROJ's own database is left where it looks, and the egm96 package is out of sight.
    code = f"""
import pyproj, shutil, sys
shutil.copy(pyproj.datadir.get_data_dir() + "/proj.db", {str(tmp_path)!r})
pyproj.datadir.set_data_dir({str(tmp_path)!r})
sys.modules["egm96"] = None
from diorama.geo.geoid import lla_from_msl
for geoid in ("egm96", "egm2008"):
    try:
        print(lla_from_msl((50.0, 8.0, 100.0), geoid))
    except Exception as error:
        print(type(error).__name__, error)
"""
    lines = run(code).splitlines()
    assert lines[0].startswith("GeoError geoid egm96: expected a grid, found none;")
    assert "pip install 'diorama[geoid]'" in lines[0]
    assert lines[1].startswith("GeoError geoid egm2008: expected a grid, found none;")


def test_the_grids_of_proj_are_found_by_name(tmp_path: Path) -> None:
    write_gtx(tmp_path / "egm96_15.gtx", (-90.0, -180.0), 10.0, 19, 37)
    code = f"""
import pyproj
pyproj.datadir.append_data_dir({str(tmp_path)!r})
from diorama.geo.geoid import lla_from_msl
print(*lla_from_msl((50.0, 8.0, 100.0)))
"""
    np.testing.assert_allclose(
        [float(n) for n in run(code).split()], (50.0, 8.0, 135.08), atol=FLOAT32_METRES
    )


def test_the_egm96_package_is_asked_for_egm96_alone_and_in_its_own_order(tmp_path: Path) -> None:
    """A stand-in for the package, which not every Python has."""
    code = f"""
import pyproj, shutil, sys, types
shutil.copy(pyproj.datadir.get_data_dir() + "/proj.db", {str(tmp_path)!r})
pyproj.datadir.set_data_dir({str(tmp_path)!r})
sys.modules["egm96"] = types.SimpleNamespace(undulation=lambda latitude, longitude: latitude + longitude / 100)
from diorama.geo.geoid import geoid_height
print(geoid_height((50.0, 8.0, 100.0), "egm96"))
try:
    geoid_height((50.0, 8.0, 100.0), "egm2008")
except Exception as error:
    print(error)
"""
    lines = run(code).splitlines()
    assert float(lines[0]) == 50.08
    assert lines[1].startswith("geoid egm2008: expected a grid, found none;")


@pytest.mark.skipif(find_spec("egm96") is None, reason="the egm96 package needs Python 3.12")
@pytest.mark.parametrize(
    ("latitude_deg", "longitude_deg", "expected"),
    [(48.14, 11.58, 45.48), (-37.813628, 144.963058, 4.63), (27.988056, 86.925278, -28.74)],
)
def test_the_egm96_package_serves_when_proj_has_no_grid(
    latitude_deg: float, longitude_deg: float, expected: float
) -> None:
    assert geoid_height((latitude_deg, longitude_deg, 0.0)) == pytest.approx(expected, abs=0.1)
