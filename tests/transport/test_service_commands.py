"""The service over real sockets: what there is, and changing it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diorama.ecs import Bounds
from diorama.schemas.errors import StateError
from diorama.tests.transport.serving import ROUNDING, asking, scattered_world, serving, small_world
from diorama.transport.client import Client
from diorama.transport.feed import Feed
from diorama.transport.methods import Handlers, RequestError


def test_lists_of_entities_come_in_parts_parents_first() -> None:
    with asking(small_world()) as client:
        assert client.scene() == {
            "origin": {"latitude_deg": 29.594656, "longitude_deg": -95.163847, "altitude": -28.3},
            "entities": 4,
            "resources": ["weather"],
        }
        everything = client.entities()
        names = [one["name"] for one in everything["entities"]]
        assert sorted(names) == ["arm", "drone", "mast", "tip"]
        assert names.index("mast") < names.index("arm") < names.index("tip")
        part = client.entities(start=1, count=2)
        assert (part["total"], [one["name"] for one in part["entities"]]) == (4, names[1:3])
        assert client.entities(prefix="dr")["entities"] == [
            {"name": "drone", "key": "entity_3", "asset": "", "parent": None}
        ]
        mast = client.entity("mast")
        assert (mast["asset"], mast["children"]) == ("mast.glb", ["arm"])


def test_commands_change_the_world_and_name_the_tick_that_shows_it() -> None:
    world = small_world()
    with serving(world) as service, Client(service.endpoint) as client:
        now = client.request("scene").tick
        bounds = {"size": [1.0, 2.0, 3.0]}
        tick = client.spawn(
            "box", parent="drone", position=(1, 0, 0), components={"bounds": bounds, "mine": [1]}
        )
        assert tick > now
        assert client.where("box")["position"] == [-399.0, 50.0, -120.0]
        assert client.entity("box")["components"]["mine"] == [1]
        client.set_pose("drone", position=(0, 0, 0))
        assert client.where("box")["position"] == [1.0, 0.0, 0.0]
        client.set_pose("box", position=(5, 5, 5), space="world")
        np.testing.assert_allclose(client.where("box")["position"], (5, 5, 5), rtol=0, atol=ROUNDING * 10)
        client.reparent("box", None, keep="world")
        assert client.where("box")["parent"] is None
        client.set_component("box", "mine", None)
        client.set_resource("gravity", [0, 0, 9.81])
        assert client.get_resource("gravity") == [0, 0, 9.81]
        client.set_resource("gravity", None)
        assert client.get_resource("gravity") is None
        client.despawn("mast", children="grandparent")
        assert client.entities()["total"] == 4
        client.despawn("arm")
    assert sorted(world.names) == ["box", "drone"]
    assert world.get(world.find("box"), Bounds) == Bounds((1.0, 2.0, 3.0))


def test_a_world_pose_is_kept_below_a_turned_and_scaled_parent() -> None:
    world = small_world()
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_quat()
    with asking(world) as client:
        client.set_pose("tip", position=(7, 8, 9), orientation=turn.tolist(), scale=(3, 3, 3), space="world")
        tip = client.where("tip")
    np.testing.assert_allclose(tip["position"], (7, 8, 9), rtol=0, atol=1e-9)
    np.testing.assert_allclose(tip["scale"], (3, 3, 3), rtol=ROUNDING)
    assert abs(np.dot(turn, tip["orientation"])) == pytest.approx(1.0, abs=ROUNDING)


def test_many_poses_are_set_all_or_none() -> None:
    world = scattered_world(300)
    names = [f"e{index}" for index in range(300)]
    poses = np.zeros((300, 7))
    poses[:, 0] = np.arange(300)
    poses[:, 6] = 1.0
    with asking(world) as client:
        client.set_poses(names, poses)
        assert client.where("e299")["position"] == [299.0, 0.0, 0.0]
        client.set_poses(names, np.hstack((poses + 1, np.full((300, 3), 2.0))))
        assert client.where("e7")["scale"] == [2.0, 2.0, 2.0]
        poses[200, 3:7] = 0.0
        with pytest.raises(StateError, match="'e200': orientation"):
            client.set_poses(names, poses)
        with pytest.raises(StateError, match=r"names\[1\]: no entity is named 'nobody'"):
            client.set_poses(["e0", "nobody"], poses[:2])
        with pytest.raises(RequestError, match="expected 2 rows of 7 or 10"):
            client.set_poses(["e0", "e1"], poses[:3])
        client.request("set_poses", names=["e0", "e1"], positions=[[1, 1, 1], [2, 2, 2]])
        assert client.where("e1")["position"] == [2.0, 2.0, 2.0]
        assert client.where("e7")["position"] == [8.0, 1.0, 1.0]


def test_a_change_that_cannot_be_resolved_is_undone() -> None:
    world = small_world()
    before = np.array(world.table.local[:4])
    with asking(world) as client:
        client.set_pose("mast", scale=(1e200, 1e200, 1e200))
        changes: list[Callable[[], int]] = [
            lambda: client.set_pose("arm", scale=(1e200, 1e200, 1e200)),
            lambda: client.set_poses(["arm"], np.array([[1e200, 0, 0, 0, 0, 0, 1]])),
            lambda: client.spawn("new", parent="mast", position=(1e200, 0, 0)),
            lambda: client.set_pose("arm", position=(1e200, 0, 0)),
        ]
        for change in changes:
            with pytest.raises(StateError):
                change()
        client.set_pose("mast", scale=(1, 1, 1))
        client.set_pose("drone", position=(1e200, 0, 0))
        client.spawn("huge", scale=(1e200, 1e200, 1e200))
        with pytest.raises(StateError):
            client.reparent("drone", "huge")
        assert client.where("drone")["parent"] is None
        client.set_pose("drone", position=(-400, 50, -120))
    np.testing.assert_array_equal(world.table.local[:4], before)


def test_a_broken_entity_keeps_nobody_from_changing_the_others() -> None:
    """A tick leaves it where it was and goes on; so do commands, and those that break more are refused as ever."""
    world = small_world()
    broken = world.row(world.find("drone"))
    world.transforms.position[broken, 0] = np.nan
    with asking(world) as client:
        client.set_pose("mast", position=(1, 2, 3))
        assert client.where("mast")["position"] == [1, 2, 3]
        client.set_poses(["arm"], np.array([[5.0, 0, 0, 0, 0, 0, 1]]))
        client.spawn("new", parent="mast", position=(1, 0, 0), components={"mine": [1]})
        assert client.where("new")["position"] == [0, 2, 3]  # the mast is turned about
        assert client.entity("new")["components"] == {"mine": [1]}
        client.reparent("new", None)
        assert client.where("new")["position"] == [1, 0, 0]
        with Feed(client.endpoint, "traffic", ["new"], timeout_s=20) as feed:
            assert feed.send(np.array([[7.0, 0, 0, 0, 0, 0, 1]])).applied == 1
        assert client.where("new")["position"] == [7, 0, 0]
        client.despawn("new")
        with pytest.raises(StateError, match="no entity is named 'new'"):
            client.where("new")
        with pytest.raises(StateError, match="'mast': position: expected finite numbers"):
            client.call("set_poses", {"names": ["mast"]}, [np.full(7, np.inf).tobytes()])
        client.set_pose("drone", position=(9, 9, 9))
        assert client.where("drone")["position"] == [9, 9, 9]


def test_spawning_with_a_wrong_component_leaves_nothing_behind() -> None:
    world = small_world()
    with asking(world) as client:
        with pytest.raises(RequestError) as caught:
            client.spawn("box", components={"bounds": {"size": "large"}})
        assert (caught.value.code, caught.value.path) == ("bad_params", "params.components.bounds")
        with pytest.raises(RequestError, match="diorama's own"):
            client.spawn("box", components={"actor_state": {}})
    assert "box" not in world.names


@pytest.mark.parametrize("value", [10**30, {"a": [-(2**70)]}])
def test_what_could_not_be_published_is_refused(value: Any) -> None:
    with asking(small_world()) as client, pytest.raises(RequestError, match="can be published"):
        client.request(
            "set_resource", name="weather", value=msgspec.Raw(str(value).replace("'", '"').encode())
        )


def test_handlers_are_called_and_missing_ones_refused(tmp_path: Path) -> None:
    called: list[Any] = []
    handlers = Handlers(
        topics=lambda: ["clock/"],
        reload=called.append,
        pause=lambda: called.append("pause"),
        resume=lambda: called.append("resume"),
        step=called.append,
    )
    with asking(small_world(), handlers=handlers, scenes=tmp_path) as client:
        assert client.topics() == ["clock/"]
        client.pause()
        client.step(3)
        client.resume()
        client.reload()
        client.reload("city/a.json")
    assert called == ["pause", 3, "resume", None, tmp_path.resolve() / "city" / "a.json"]
    with asking(small_world()) as client:
        for call in (client.topics, client.pause, client.resume, client.step, client.reload):
            with pytest.raises(RequestError) as caught:
                call()
            assert caught.value.code == "not_supported"


@pytest.mark.parametrize(
    "path",
    ["../x.json", "/etc/passwd", "a/../../x", "link/x.json", "link", "nul\0", "a" * 300 + "/../../.."],
)
def test_file_names_stay_inside_the_directory(tmp_path: Path, path: str) -> None:
    scenes = tmp_path / "scenes"
    scenes.mkdir()
    (scenes / "link").symlink_to(tmp_path)
    called: list[Any] = []
    with asking(small_world(), handlers=Handlers(reload=called.append), scenes=scenes) as client:
        with pytest.raises(StateError):
            client.reload(path)
        client.reload("a.json")
    assert called == [scenes.resolve() / "a.json"]
    with (
        asking(small_world(), handlers=Handlers(reload=called.append)) as client,
        pytest.raises(StateError, match="no directory was named"),
    ):
        client.reload("a.json")


def test_a_replaced_world_answers_from_then_on() -> None:
    worlds = [small_world()]

    def reload(path: Path | None) -> None:
        worlds[0] = scattered_world(3)

    with asking(lambda: worlds[0], handlers=Handlers(reload=reload)) as client:
        assert client.scene()["entities"] == 4
        client.reload()
        assert client.scene()["entities"] == 3


def test_a_read_only_service_answers_and_changes_nothing() -> None:
    with asking(small_world(), read_only=True) as client:
        assert client.where("mast")["key"] == "entity_0"
        with pytest.raises(RequestError, match="read-only"):
            client.despawn("mast")
        assert not [one for one in client.describe() if one["kind"] == "command"]
