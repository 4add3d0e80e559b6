"""The command `diorama geo`, called as the command line calls it."""

import argparse
import io
import json

import numpy as np
import pytest

from diorama.cli import arguments, geo
from diorama.geo import AXES, FRAMES, Origin, ned_from_lla
from diorama.schemas.errors import GeoError, SceneError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="diorama")
    geo.add_parser(parser.add_subparsers())
    args = parser.parse_args(["geo", *words])
    return int(args.run(args))


def test_the_frames_and_axes_offered_are_those_there_are() -> None:
    assert arguments.FRAMES == FRAMES
    assert set(arguments.AXES) == AXES.keys()


def test_points_from_the_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--from", "lla", "--to", "ecef", "29.594656,-95.16384722,-28.3", "0 180 0") == 0
    assert (
        capsys.readouterr().out
        == "-499573.586028 -5528032.628386 3131368.369713\n-6378137.000000 0.000000 0.000000\n"
    )


def test_points_from_standard_input_with_all_digits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("# two points\n29.6,-95.2,100\n\n  29.7 -95.1 50\n"))
    assert run("--from", "lla", "--to", "ned", "--origin", "29.59,-95.16,0", "--json") == 0
    expected = ned_from_lla([[29.6, -95.2, 100], [29.7, -95.1, 50]], Origin(29.59, -95.16, 0.0))
    np.testing.assert_array_equal(json.loads(capsys.readouterr().out), expected)


def test_what_is_printed_can_be_read_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--from", "ned", "--to", "lla", "--origin", "-33.9,151.2,20", "-100,200,-300")
    monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
    run("--from", "lla", "--to", "ned", "--origin", "-33.9,151.2,20")
    found = [float(word) for word in capsys.readouterr().out.split()]
    np.testing.assert_allclose(found, (-100.0, 200.0, -300.0), rtol=0.0, atol=2e-5)


def test_no_points_no_output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run("--from", "lla", "--to", "ecef", "--json") == 0
    assert capsys.readouterr().out == "[]\n"


def test_everything_wrong_with_the_input_is_said_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1,2,3\n1,2\nnorth east down\n"))
    with pytest.raises(SceneError) as caught:
        run("--from", "ned", "--to", "enu")
    assert str(caught.value).splitlines() == [
        "<stdin>:2: expected three numbers as x,y,z, got '1,2'",
        "<stdin>:3: expected three numbers as x,y,z, got 'north east down'",
    ]


def test_a_missing_origin_is_asked_for_by_its_option() -> None:
    with pytest.raises(GeoError, match=r"expected an origin .*; give --origin LAT,LON,ALT"):
        run("--from", "lla", "--to", "ned", "1,2,3")


def test_an_impossible_point_is_the_inputs_fault() -> None:
    with pytest.raises(GeoError, match="lla point 0: expected a latitude"):
        run("--from", "lla", "--to", "ecef", "91,0,0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "lla", "--to", "mars", "1,2,3"], "invalid choice: 'mars'"),
        (
            ["--from", "lla", "--to", "ned", "--origin", "1,2", "1,2,3"],
            "--origin: expected LAT,LON,ALT, got '1,2'",
        ),
        (
            ["--from", "lla", "--to", "ned", "--origin", "95,2,0", "1,2,3"],
            "latitude_deg: expected -90 to 90 degrees",
        ),
    ],
)
def test_a_wrong_call_ends_with_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
