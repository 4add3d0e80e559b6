"""Pictures without a browser."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")

from matplotlib.figure import Figure
from matplotlib.image import imread

from diorama.cli.main import main
from diorama.ecs import Bounds, World, propagate
from diorama.transport.publisher import Publisher
from diorama.viewer.shot import draw_plan, shot, triangles_of


def test_a_picture_of_the_demo_has_something_in_it(tmp_path: Path) -> None:
    assert main(["shot", "demo", str(tmp_path / "demo.png")]) == 0
    picture = imread(tmp_path / "demo.png")
    assert picture.shape[1] > 1200
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 200


def test_boxes_become_triangles_where_they_stand() -> None:
    world = World()
    world.spawn("box", Bounds((2.0, 4.0, 6.0), (0.0, 0.0, -3.0)), position=(10.0, 20.0, 0.0))
    propagate(world)
    corners = triangles_of(world).corners.reshape(-1, 3)
    assert corners.min(axis=0).tolist() == [9.0, 18.0, -6.0]
    assert corners.max(axis=0).tolist() == [11.0, 22.0, 0.0]


def test_north_is_up_and_east_is_right_on_the_plan() -> None:
    world = World()
    world.spawn("north_east", Bounds((2.0, 2.0, 2.0)), position=(100.0, 50.0, 0.0))
    propagate(world)
    axes = Figure().add_subplot()
    draw_plan(axes, triangles_of(world))
    drawn = np.concatenate([path.vertices for path in axes.collections[0].get_paths()])
    assert drawn[:, 0].min() == pytest.approx(49.0)
    assert drawn[:, 1].max() == pytest.approx(101.0)


def test_an_empty_world_is_a_picture_too(tmp_path: Path) -> None:
    world = World()
    propagate(world)
    shot(world, tmp_path / "empty.svg")
    assert (tmp_path / "empty.svg").stat().st_size > 1000


def test_nobody_publishing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Publisher("tcp://127.0.0.1:*") as publisher:
        code = main(["shot", publisher.endpoint, str(tmp_path / "none.png"), "--timeout", "0.2"])
    assert code == 1
    assert "is a publisher running" in capsys.readouterr().err
