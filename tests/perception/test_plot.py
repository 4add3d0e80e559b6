"""Pictures: outlines lie where the objects do, and the example makes a PNG."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from diorama.perception.messages import tracked_objects
from diorama.perception.plot import outlines
from diorama.tests.perception.test_messages import WHEN, objects_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "07_detections.py"


def test_outlines_go_around_the_objects_and_point_ahead() -> None:
    objects = objects_of(4)
    lines = outlines(tracked_objects(objects, sensor="lidar", **WHEN)).reshape(4, -1, 2)
    corners, middle, nose = lines[:, :4], lines[:, 6], lines[:, 7]
    assert np.allclose(corners.mean(axis=1), objects.center[:, :2])
    assert np.allclose(middle, objects.center[:, :2])
    assert np.allclose(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1), objects.size[:, 0])
    assert np.allclose(np.linalg.norm(corners[:, 2] - corners[:, 1], axis=1), objects.size[:, 1])
    ahead = 0.5 * (corners[:, 1] + corners[:, 2]) - middle
    assert np.allclose(nose - middle, 1.4 * ahead)


def test_nothing_draws_nothing() -> None:
    assert outlines(tracked_objects(objects_of(0), sensor="lidar", **WHEN)).shape == (0, 2)


def test_the_example_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "detections.png"
    subprocess.run([sys.executable, str(EXAMPLE), str(picture)], check=True)
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (800, 830)
