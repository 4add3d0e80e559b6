"""Rerun: a recording becomes one of its files, with its timelines."""

from pathlib import Path

import pytest

pytest.importorskip("rerun", reason="Rerun's files need the extra `rerun` (700 MB)")
pytest.importorskip("mcap", reason="recording needs the extra `record`")

from diorama.cli.main import main
from diorama.tests.viewer.test_record import record


def test_a_recording_becomes_a_rerun_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "flight.mcap", 15, with_foxglove=False)
    target = tmp_path / "flight.rrd"
    assert main(["convert", str(tmp_path / "flight.mcap"), str(target)]) == 0
    assert "15 updates" in capsys.readouterr().out
    data = target.read_bytes()
    assert data[:3] == b"RRF"
    for part in (b"sim_time", b"Boxes3D", b"Transform3D", b"GeoPoints", b"/world/entities/ship"):
        assert part in data
