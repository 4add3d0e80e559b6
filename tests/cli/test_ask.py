"""`diorama ask` and `diorama keys`, and a served scene that answers, pauses, steps and reloads."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diorama.cli.main import main
from diorama.ecs import World
from diorama.geo import Origin
from diorama.runtime.load import save
from diorama.schemas.errors import SceneError, StateError
from diorama.tests.transport.serving import serving, small_world
from diorama.transport.client import Client
from diorama.transport.methods import NoAnswerError, RequestError
from diorama.transport.security import load_client, load_server

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def service() -> Iterator[str]:
    with serving(small_world()) as answering:
        yield answering.endpoint


def ask(service: str, capsys: Captured, *words: str) -> str:
    assert main(["ask", *words, "--service", service, "--timeout", "20"]) == 0
    return capsys.readouterr().out


def ask_json(service: str, capsys: Captured, *words: str) -> object:
    answer = json.loads(ask(service, capsys, *words, "--json"))
    assert set(answer) == {"result", "tick"}
    return answer["result"]


def test_where_for_people_and_for_programs(service: str, capsys: Captured) -> None:
    lines = ask(service, capsys, "where", "drone").splitlines()
    assert lines[0].split() == ["name", "drone"]
    assert any(line.startswith("lla ") and "29.59" in line for line in lines)
    assert lines[-1].startswith("at tick ")
    found = ask_json(service, capsys, "where", "drone", "--axes", "unreal")
    assert isinstance(found, dict)
    assert found["position"] == [5000.0, 40000.0, 12000.0]


def test_every_question_has_an_answer(service: str, capsys: Captured) -> None:
    assert ask(service, capsys, "convert", "--from", "ned", "--to", "enu", "1,2,3", "-4,-5,-6").splitlines()[
        :2
    ] == [
        "2.000000  1.000000  -3.000000",
        "-5.000000  -4.000000  6.000000",
    ]
    there = ask_json(service, capsys, "convert", "--from", "lla", "--to", "ned", "--origin", "1,2,3", "1,2,3")
    assert there == [pytest.approx([0, 0, 0], abs=1e-6)]
    assert ask(service, capsys, "near", "-400,50,-100").startswith("drone  20.000000  -400.000000, 50.000000")
    near = ask_json(service, capsys, "near", "--name", "mast", "--radius", "50")
    assert isinstance(near, list)
    assert {one["name"] for one in near} == {"arm", "tip"}
    assert ask_json(service, capsys, "box", "-500,0,-200", "0,100,0") == ["drone"]
    assert ask(service, capsys, "box", "0,0,0", "1,1,1").startswith("nothing\n")
    assert ask_json(service, capsys, "polygon", "29,-96", "30,-96", "30,-95", "29,-95", "--lowest", "50") == [
        "drone"
    ]
    assert "bearing_deg" in ask(service, capsys, "distance", "mast", "drone")
    assert "orientation" in ask(service, capsys, "relative", "mast", "drone")
    assert ask(service, capsys, "list", "--prefix", "dr").startswith("drone  entity_3")
    assert ask(service, capsys, "scene").startswith("origin     latitude_deg 29.59")
    assert "list_objects  query  The names of all" in ask(service, capsys, "call", "describe")
    assert "$defs" not in ask(service, capsys, "call", "describe")
    assert ask_json(service, capsys, "call", "get_resource", '{"name": "weather"}') == {"preset": "Cloudy"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["where", "drne"], "did you mean 'drone'"),
        (["where", "zzz"], "no entity is named 'zzz'; `diorama ask list` shows all names"),
        (["near", "1,2"], "expected three numbers"),
        (["polygon", "1,2,3", "1,2", "2,3"], "expected LAT,LON"),
        (["call", "where", "[]"], "expected a JSON object"),
        (["call", "where", "{"], "expected a JSON object"),
        (["convert", "--from", "lla", "--to", "ned", "100,0,0"], "expected a latitude"),
    ],
)
def test_mistakes_are_told_and_the_exit_code_is_1(
    service: str, capsys: Captured, words: list[str], said: str
) -> None:
    assert main(["ask", *words, "--service", service, "--timeout", "20"]) == 1
    assert said in capsys.readouterr().err


def test_silence_is_told(capsys: Captured) -> None:
    assert main(["ask", "scene", "--service", "tcp://127.0.0.1:9", "--timeout", "0.05"]) == 1
    assert (
        "no answer from tcp://127.0.0.1:9 within 0.05 s; is `diorama serve` running?"
        in capsys.readouterr().err
    )


def test_keys_are_made_and_work(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "keys"
    assert main(["keys", str(folder), "planner"]) == 0
    named = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in named} == {
        "server.key",
        "server.key_secret",
        "planner.key",
        "planner.key_secret",
    }
    assert stat.S_IMODE((folder / "planner.key_secret").stat().st_mode) == 0o600
    assert load_client(folder, "planner").public_key in load_server(folder).allowed
    assert main(["keys", str(folder), "planner"]) == 1
    assert "there is a key already" in capsys.readouterr().err
    with serving(small_world(), security=load_server(folder)) as answering:
        out = ask(answering.endpoint, capsys, "scene", "--keys", str(folder), "--client", "planner")
        assert out.startswith("origin")


# -- a served scene ----------------------------------------------------------------------------------------------


@contextmanager
def served(scene: Path, *options: str) -> Iterator[str]:
    """The service endpoint of a scene that another process serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", "serve", str(scene), "--endpoint", "tcp://127.0.0.1:*",
         "--service", "tcp://127.0.0.1:*", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("answering at "):
                yield line.removeprefix("answering at ").strip()
                break
        else:
            pytest.fail(process.stderr.read() if process.stderr else "")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    world = World(Origin(47.37, 8.54, 408.0))
    world.spawn("drone", position=(1, 2, -30))
    path = tmp_path / "one.scene.json"
    save(world, path)
    return path


def test_a_served_scene_answers_pauses_steps_and_resumes(scene: Path) -> None:
    with served(scene, "--paused", "--rate", "200") as endpoint, Client(endpoint, timeout_s=20) as client:
        assert client.where("drone")["ned"] == [1, 2, -30]
        assert "scene/json/" in client.topics()
        before = client.request("scene").tick
        client.step(5)
        while (tick := client.request("scene").tick) < before + 5:
            pass
        assert tick == before + 5  # and there it stands: the last tick is shown once more, with the command
        command = client.set_pose("drone", position=(9, 9, 9))
        assert command == tick
        client.resume()
        while client.request("scene").tick < command + 3:
            pass
        assert client.where("drone")["ned"] == [9, 9, 9]
        client.pause()


def test_a_served_scene_reloads_its_file_and_others_of_the_directory(scene: Path) -> None:
    other = World()
    other.spawn("boat")
    save(other, scene.parent / "other.scene.json")
    with (
        served(scene, "--scenes", str(scene.parent)) as endpoint,
        Client(endpoint, timeout_s=20) as client,
    ):
        client.despawn("drone")
        client.reload()
        assert client.where("drone")["ned"] == [1, 2, -30]
        client.reload("other.scene.json")
        assert [one["name"] for one in client.entities()["entities"]] == ["boat"]
        scene.write_text("{")
        with pytest.raises(RequestError) as caught:
            client.reload("one.scene.json")
        assert caught.value.code == "bad_scene"
        assert not isinstance(caught.value, SceneError)
        with pytest.raises(StateError, match="inside the scenes directory"):
            client.reload("../x")
        assert client.where("boat")["name"] == "boat"


def test_a_served_scene_with_keys_answers_only_their_holders(scene: Path) -> None:
    keys = scene.parent / "keys"
    assert main(["keys", str(keys)]) == 0
    with served(scene, "--keys", str(keys)) as endpoint:
        with Client(endpoint, timeout_s=20, security=load_client(keys)) as client:
            assert client.scene()["entities"] == 1
        with Client(endpoint, timeout_s=0.3) as stranger, pytest.raises(NoAnswerError):
            stranger.scene()
