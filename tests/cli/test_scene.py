"""The commands check, tree, where and convert, and what `diorama` does with mistakes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import diorama
from diorama.cli.main import main
from diorama.ecs import World, difference
from diorama.runtime.load import load, save

SCENES = Path(__file__).parent.parent / "scenes"
HOUSTON = str(SCENES / "houston.scene.json")
Captured = pytest.CaptureFixture[str]


def test_check_is_content_with_a_good_scene(capsys: Captured) -> None:
    assert main(["check", HOUSTON]) == 0
    assert capsys.readouterr().out == f"{HOUSTON}: ok\n"


def test_check_prints_file_and_line_first(tmp_path: Path, capsys: Captured) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(Path(HOUSTON).read_text().replace('"parent": "entity_0"', '"parent": "entity_9"'))
    assert main(["check", str(wrong), HOUSTON]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{wrong}:")
    assert lines[0].endswith("components.actor_properties.entity_2.parent: no entity has the id 'entity_9'; "
                             "did you mean 'entity_2'?")  # fmt: skip
    assert lines[1:] == [f"{wrong}: 1 error", f"{HOUSTON}: ok"]


def test_check_as_json(tmp_path: Path, capsys: Captured) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"entities": {},\n "components": 3,\n "extra": 1}')
    assert main(["check", "--json", str(wrong)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told[0] == {
        "severity": "error",
        "message": "expected an object, got 3",
        "path": "components",
        "file": str(wrong),
        "line": 2,
        "column": 16,
    }


def test_tree_draws_the_hierarchy(capsys: Captured) -> None:
    assert main(["tree", HOUSTON]) == 0
    out = capsys.readouterr().out.replace(HOUSTON, "houston.scene.json")
    asset = "generic-aircrafts/GenericEVtol/GenericEVTOL"
    assert out == (
        "houston.scene.json: 5 entities, at 29.594656°, -95.163847°, -28.3 m\n"
        f"├── evtol_0 (entity_0)  {asset}\n"
        "│   ├── camera_0 (entity_2)  · sensor rgb_camera\n"
        "│   ├── evtol_0/rotor_left · effector  evtol/armature/rotor_left\n"
        "│   └── evtol_0/rotor_right · effector  evtol/armature/rotor_right\n"
        f"└── evtol_1 (entity_1)  {asset}\n"
    )


def test_tree_to_a_depth_and_of_a_very_deep_one(tmp_path: Path, capsys: Captured) -> None:
    assert main(["tree", "--depth", "1", HOUSTON]) == 0
    assert "│   └── … 3 below" in capsys.readouterr().out
    world = World()
    world.insert(3000, parents=range(-1, 2999))
    save(world, tmp_path / "chain.json")
    assert main(["tree", str(tmp_path / "chain.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3001
    assert lines[-1] == "│ 2999 levels … └── entity_2999"


def test_where_is_a_table(capsys: Captured) -> None:
    assert main(["where", HOUSTON, "evtol_1", "entity_2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "name", "north", "east", "down", "latitude", "longitude", "altitude", "x", "y", "z",
    ]  # fmt: skip
    assert lines[2].split() == [
        "evtol_1", "0.000", "0.000", "0.000", "29.59465600", "-95.16384722", "-28.300",
        "-499573.586", "-5528032.628", "3131368.370",
    ]  # fmt: skip
    assert lines[3].split()[:4] == ["camera_0", "120.000", "-38.000", "-59.500"]
    assert len({len(line) for line in lines[2:]}) == 1


def test_where_as_json_with_another_origin(capsys: Captured) -> None:
    assert main(["where", HOUSTON, "evtol_1", "--json", "--origin", "-10,20,30"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["lla"] == pytest.approx([-10, 20, 30], abs=1e-8)
    assert told.keys() == {"name", "id", "ned", "lla", "ecef", "cartesian"}


def test_where_without_an_earth_names_the_option(tmp_path: Path, capsys: Captured) -> None:
    save(World(), tmp_path / "empty.json")
    assert main(["where", str(tmp_path / "empty.json")]) == 1
    assert "--origin LAT,LON,ALT" in capsys.readouterr().err


def test_where_of_an_unknown_name(capsys: Captured) -> None:
    assert main(["where", HOUSTON, "camera"]) == 1
    assert capsys.readouterr().err == "no entity is named 'camera'; did you mean 'camera_0'?\n"


def test_convert_there_and_back(tmp_path: Path, capsys: Captured) -> None:
    there, back = str(tmp_path / "there.json"), str(tmp_path / "back.json")
    assert main(["convert", HOUSTON, there, "--profile", "aerosim"]) == 0
    assert '"effector_id"' in Path(there).read_text()
    assert main(["convert", there, back, "--from-profile", "aerosim", "--to", "scene"]) == 0
    assert difference(load(HOUSTON), load(back), tolerance=1e-12) == ""
    assert "5 entities" in capsys.readouterr().out


def test_oddities_go_to_stderr_and_do_not_stop(tmp_path: Path, capsys: Captured) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(Path(HOUSTON).read_text().replace('"east": -40.0', '"east": -45.0'))
    assert main(["convert", str(odd), str(tmp_path / "out.json")]) == 0
    assert "ned: warning: 5 m from where its pose puts it; recomputed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["tree", "missing.json"], ["convert", HOUSTON, "x.docx"], ["where", HOUSTON, "--profile", "x"]],
)
def test_wrong_input_is_a_message_and_one(words: list[str], capsys: Captured) -> None:
    assert main(words) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["nonsense"], ["tree"], ["where", HOUSTON, "--origin", "1,2"], ["--what"]])
def test_a_wrong_call_is_two(words: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "see: diorama" in capsys.readouterr().err


def test_version(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"diorama {diorama.__version__}\n"


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    class Interrupted:
        def isatty(self) -> bool:
            return False

        def __iter__(self) -> Iterator[str]:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    assert main(["geo", "--from", "lla", "--to", "ecef"]) == 130
    assert capsys.readouterr().err == ""


def test_a_reader_that_leaves_early_is_no_mistake(tmp_path: Path) -> None:
    world = World()
    world.insert(20_000)
    save(world, tmp_path / "many.json")
    command = [sys.executable, "-m", "diorama.cli", "tree", str(tmp_path / "many.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "20000 entities" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
