"""The service over real sockets: every method, against numbers from elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import pyproj
import pytest
import zmq
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from diorama.ecs import Bounds, World, matrix_world, propagate
from diorama.geo import AXES, FRAMES, Origin
from diorama.schemas.errors import DioramaError, GeoError, MessageError, StateError
from diorama.tests.patience import PATIENCE_MS, PATIENCE_S
from diorama.tests.transport.serving import ANY_PORT, HOUSTON, asking, scattered_world, serving, small_world
from diorama.transport.client import Client
from diorama.transport.feed import Feed
from diorama.transport.methods import METHODS, Handlers, Limits, NoAnswerError, RequestError
from diorama.transport.service import Service

MICROMETRE = 1e-6
NANOMETRE_PER_KM = 1e-9
DEGREE = 1e-11  # about a micrometre on the ground
ROUNDING = 1e-12


def pyproj_ecef(lla: NDArray[np.float64]) -> NDArray[np.float64]:
    transformer = pyproj.Transformer.from_crs("EPSG:4979", "EPSG:4978")
    return np.stack(transformer.transform(*lla.T), axis=1)


# -- where things are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 63, 64, 5000])
def test_convert_agrees_with_pyproj_as_json_and_as_body(count: int) -> None:
    lla = np.random.default_rng(2).uniform((-89, -180, -100), (89, 180, 9000), (count, 3))
    with asking(small_world()) as client:
        found = client.convert(lla, "lla", "ecef")
        back = client.convert(found, "ecef", "lla")
    np.testing.assert_allclose(found, pyproj_ecef(lla), rtol=0, atol=MICROMETRE)
    np.testing.assert_allclose(back[:, :2], lla[:, :2], rtol=0, atol=1e-10)
    np.testing.assert_allclose(back[:, 2], lla[:, 2], rtol=0, atol=MICROMETRE)


def test_every_pair_of_frames_goes_there_and_back() -> None:
    ned = np.random.default_rng(3).uniform(-5000, 5000, (70, 3))
    with asking(small_world()) as client:
        for frame in FRAMES:
            there = client.convert(ned, "ned", frame)
            np.testing.assert_allclose(client.convert(there, frame, "ned"), ned, rtol=0, atol=10 * MICROMETRE)


def test_a_hundred_thousand_points_go_in_one_request() -> None:
    ned = np.random.default_rng(4).uniform(-5000, 5000, (100_000, 3))
    with asking(small_world()) as client:
        ecef = client.convert(ned, "ned", "ecef")
    assert ecef.shape == (100_000, 3)
    # Rotations keep lengths: an independent check on all of them.
    np.testing.assert_allclose(
        np.linalg.norm(ecef - HOUSTON.ecef, axis=1), np.linalg.norm(ned, axis=1), rtol=0, atol=MICROMETRE
    )


def test_an_origin_of_ones_own_and_no_points_at_all() -> None:
    with asking(World()) as client:
        found = client.convert([[10.0, 20.0, 30.0]], "lla", "ned", origin=(10.0, 20.0, 30.0))
        np.testing.assert_allclose(found, 0.0, atol=MICROMETRE)
        assert client.convert(np.empty((0, 3)), "lla", "ecef").shape == (0, 3)
        with pytest.raises(GeoError, match="expected an origin"):
            client.convert([[10.0, 20.0, 30.0]], "lla", "ned")


def test_where_gives_the_pose_and_every_coordinate() -> None:
    world = small_world()
    matrix = matrix_world(world, world.find("tip"))
    ned = matrix[:3, 3]
    with asking(world) as client:
        tip = client.where("tip")
    np.testing.assert_allclose(tip["position"], ned, rtol=0, atol=ROUNDING * 1000)
    np.testing.assert_allclose(tip["scale"], (2.0, 2.0, 2.0), rtol=ROUNDING)
    turned = Rotation.from_quat([0, 0, 1, 0]) * Rotation.from_quat([0.5, 0.5, 0.5, 0.5])
    assert abs(np.dot(turned.as_quat(), tip["orientation"])) == pytest.approx(1.0, abs=ROUNDING)
    np.testing.assert_allclose(pyproj_ecef(np.array([tip["lla"]]))[0], tip["ecef"], rtol=0, atol=MICROMETRE)
    np.testing.assert_allclose(
        np.array(tip["ecef"]) - HOUSTON.ecef, tip["cartesian"], rtol=0, atol=MICROMETRE
    )
    assert (tip["parent"], tip["ned"]) == ("arm", tip["position"])


@pytest.mark.parametrize("axes", AXES)
def test_where_in_the_axes_of_renderers(axes: str) -> None:
    world = small_world()
    ned = np.array(world.poses.position[world.row(world.find("drone"))])
    with asking(world) as client:
        drone = client.where("drone", axes=axes)
    np.testing.assert_allclose(drone["position"], AXES[axes].points(ned), rtol=0, atol=ROUNDING * 1e5)


def test_where_without_an_earth_has_no_coordinates_on_it() -> None:
    world = World()
    world.spawn("a", position=(1, 2, 3))
    propagate(world)
    with asking(world) as client:
        found = client.where("a")
        assert (found["position"], found["lla"], found["ecef"]) == ([1, 2, 3], None, None)
        with pytest.raises(GeoError, match="no place on Earth"):
            client.nearest([29.0, -95.0, 0.0], frame="lla")
        with pytest.raises(GeoError, match="no place on Earth"):
            client.within_polygon([(0, 0), (0, 1), (1, 1)])


def test_nearest_and_within_agree_with_going_through_them_all() -> None:
    world = scattered_world(500)
    names = np.array([world.name(entity) for entity in world.entities.tolist()])
    ned = np.array(world.poses.position[world.rows(world.entities)])
    point = np.array([100.0, -200.0, 300.0])
    away = np.linalg.norm(ned - point, axis=1)
    order = np.argsort(away)
    with asking(world) as client:
        lla = client.convert([point], "ned", "lla")[0]
        found = client.nearest(point.tolist(), k=7)
        assert [one["name"] for one in found] == names[order[:7]].tolist()
        np.testing.assert_allclose([one["distance"] for one in found], away[order[:7]], rtol=ROUNDING)
        assert [one["name"] for one in client.nearest(lla.tolist(), k=7, frame="lla")] == names[
            order[:7]
        ].tolist()
        assert len(client.nearest(point.tolist(), k=1000)) == 500
        around = client.within_radius(1500.0, point.tolist())
        assert [one["name"] for one in around] == names[order[: (away <= 1500.0).sum()]].tolist()
        others = client.nearest(name="e0", k=2)
        assert "e0" not in [one["name"] for one in others]
        low, high = np.array([-1000.0, -500.0, -2000.0]), np.array([1000.0, 1500.0, 0.0])
        boxed = client.within_box(low.tolist(), high.tolist())
        assert sorted(boxed) == sorted(names[((ned >= low) & (ned <= high)).all(axis=1)])


def test_boxes_and_polygons_of_latitude_and_longitude_cross_the_antimeridian() -> None:
    world = World(Origin(10.0, 180.0, 0.0))
    for name, east in (("west", -20_000.0), ("middle", 0.0), ("east", 20_000.0), ("far", 90_000.0)):
        world.spawn(name, position=(0.0, east, -100.0))
    propagate(world)
    with asking(world) as client:
        assert client.within_box([9, 179.7, -1000], [11, -179.7, 2000], frame="lla") == [
            "west",
            "middle",
            "east",
        ]
        assert client.within_box([9, 179.7, -1000], [11, 179.99, 2000], frame="lla") == ["west"]
        corners = [(9.0, 179.7), (11.0, 179.7), (11.0, -179.7), (9.0, -179.7)]
        assert client.within_polygon(corners) == ["west", "middle", "east"]
        assert client.within_polygon([(lat, lon % 360) for lat, lon in corners]) == ["west", "middle", "east"]
        assert client.within_polygon(corners, lowest=110.0) == ["west", "east"]  # the Earth curves away
        assert client.within_polygon(corners, highest=110.0) == ["middle"]
        with pytest.raises(GeoError, match="around a pole"):
            client.within_polygon([(80, 0), (80, 120), (80, -120)])


def test_polygons_with_a_dent_follow_the_even_odd_rule() -> None:
    world = World(Origin(0.0, 0.0, 0.0))
    for name, (north, east) in {"in": (0, -30_000), "dent": (20_000, 0), "below": (-20_000, 0)}.items():
        world.spawn(name, position=(north, east, 0))
    propagate(world)
    dented = [(-0.5, -0.5), (0.5, -0.5), (0.0, 0.0), (0.5, 0.5), (-0.5, 0.5)]
    with asking(world) as client:
        assert client.within_polygon(dented) == ["in", "below"]
        assert client.within_polygon(dented[::-1]) == ["in", "below"]


def test_distance_and_bearing_agree_with_pyproj() -> None:
    world = small_world()
    with asking(world) as client:
        start, end = client.where("mast"), client.where("drone")
        found = client.distance("mast", "drone")
    (lat_1, lon_1, alt_1), (lat_2, lon_2, alt_2) = start["lla"], end["lla"]
    azimuth, _, ground = pyproj.Geod(ellps="WGS84").inv(lon_1, lat_1, lon_2, lat_2)
    assert found["ground_distance"] == pytest.approx(ground, abs=MICROMETRE)
    assert found["bearing_deg"] == pytest.approx(azimuth % 360, abs=1e-8)
    assert found["climb"] == pytest.approx(alt_2 - alt_1, abs=MICROMETRE)
    assert found["distance"] == pytest.approx(
        np.linalg.norm(np.subtract(end["ecef"], start["ecef"])), abs=MICROMETRE
    )


def test_the_relative_pose_is_a_change_of_frame() -> None:
    world = small_world()
    a, b = (matrix_world(world, world.find(name)) for name in ("drone", "mast"))
    with asking(world) as client:
        found = client.relative_pose("drone", "mast")
        itself = client.relative_pose("tip", "tip")
    expected = np.linalg.inv(b) @ a
    np.testing.assert_allclose(found["position"], expected[:3, 3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        Rotation.from_quat(found["orientation"]).as_matrix(), expected[:3, :3], rtol=0, atol=ROUNDING
    )
    np.testing.assert_allclose(itself["position"], 0.0, atol=ROUNDING)


# -- what there is, and changing it ------------------------------------------------------------------------------


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


# -- schemas, errors, ways of asking -----------------------------------------------------------------------------


def test_every_method_has_a_line_a_schema_and_a_place_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    with asking(small_world()) as client:
        described = client.describe()
    assert [one["name"] for one in described] == list(METHODS)
    for one in described:
        assert len(one["about"]) > 10
        jsonschema_rs.validator_for(one["params"])
        assert f"`{one['name']}`" in page
        internal = one["name"] in ("claim", "feed", "release")  # Feed speaks those
        assert internal or hasattr(Client, one["name"])


def test_schemas_and_the_service_agree_on_what_is_wrong() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("where", {}, "params"),
        ("where", {"name": 3}, "params.name"),
        ("where", {"name": "mast", "more": 1}, "params"),
        ("convert", {"source": "lla", "target": "ned", "points": [[1, 2]]}, "params.points[0]"),
        ("nearest", {"point": [0, 0, 0], "k": 0}, "params.k"),
        ("within_radius", {"point": [0, 0, 0], "radius": -1}, "params.radius"),
        ("despawn", {"name": "mast", "children": "eat"}, "params.children"),
    ]
    with asking(small_world()) as client:
        schemas = {one["name"]: jsonschema_rs.validator_for(one["params"]) for one in client.describe()}
        for method, params, path in cases:
            assert not schemas[method].is_valid(params), (method, params)
            with pytest.raises(RequestError) as caught:
                client.request(method, **params)
            assert (caught.value.code, caught.value.path) == ("bad_params", path)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("wherre", {}, "unknown_method"),
        ("where", {"name": "mst"}, "unknown_entity"),
        ("convert", {"source": "lla", "target": "nad", "points": []}, "bad_place"),
        ("convert", {"source": "lla", "target": "ned"}, "bad_params"),
        ("convert", {"source": "lla", "target": "ned", "points": [[91, 0, 0]]}, "bad_place"),
        ("where", {"name": "mast", "axes": "nad"}, "bad_params"),
        ("nearest", {}, "bad_params"),
        ("nearest", {"point": [0, 0, 0], "name": "mast"}, "bad_params"),
        ("within_polygon", {"corners": [[0, 0], [1, 1]]}, "bad_place"),
        ("reparent", {"name": "mast", "parent": "tip"}, "refused"),
        ("spawn", {"name": "mast"}, "refused"),
        ("spawn", {"name": "new", "orientation": [0, 0, 0, 0]}, "refused"),
        ("set_resource", {"name": "origin", "value": 1}, "refused"),
        ("set_component", {"name": "mast", "group": "none", "value": None}, "refused"),
    ],
)
def test_refusals_have_a_code_and_a_message(method: str, params: dict[str, Any], code: str) -> None:
    with asking(small_world()) as client:
        with pytest.raises(RequestError) as caught:
            client.call(method, params)
        assert caught.value.code == code
        assert caught.value.message
        assert client.scene()["entities"] == 4


def test_hints_come_over_the_wire() -> None:
    with asking(small_world()) as client:
        with pytest.raises(StateError, match="did you mean 'mast'"):
            client.where("mst")
        with pytest.raises(RequestError, match="did you mean 'where'"):
            client.request("wheer")


def test_a_plain_req_socket_and_a_bare_dealer_are_answered() -> None:
    with serving(small_world()) as service:
        for kind in (zmq.REQ, zmq.DEALER):
            socket: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
            with socket:
                socket.linger = 0
                socket.connect(service.endpoint)
                socket.send(b'{"id": "x", "method": "scene"}')
                assert socket.poll(PATIENCE_MS)
                answer = msgspec.json.decode(socket.recv())
                assert answer["id"] == "x"
                assert answer["result"]["entities"] == 4


def test_answers_keep_the_order_of_requests_and_their_ids() -> None:
    with serving(small_world()) as service:
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        with socket:
            socket.linger = 0
            socket.connect(service.endpoint)
            for number in range(200):
                pose = {"name": "drone", "position": [number, 0, 0]}
                socket.send(msgspec.json.encode({"id": 2 * number, "method": "set_pose", "params": pose}))
                asked = {"id": 2 * number + 1, "method": "where", "params": {"name": "drone"}}
                socket.send(msgspec.json.encode(asked))
            for number in range(200):
                assert socket.poll(PATIENCE_MS)
                assert msgspec.json.decode(socket.recv())["id"] == 2 * number
                where = msgspec.json.decode(socket.recv())
                assert (where["id"], where["result"]["position"][0]) == (2 * number + 1, number)


def test_silence_is_told_with_the_endpoint_and_a_hint() -> None:
    with (
        Client("tcp://127.0.0.1:9", timeout_s=0.05) as client,
        pytest.raises(
            NoAnswerError, match=r"no answer from tcp://127\.0\.0\.1:9 within 0\.05 s; is `diorama serve`"
        ),
    ):
        client.scene()


def test_a_late_answer_is_not_taken_for_the_next_one() -> None:
    service = Service(small_world(), ANY_PORT)
    with service, Client(service.endpoint, timeout_s=0.05) as client:
        with pytest.raises(NoAnswerError):
            client.where("mast")
        assert service.poll(PATIENCE_S) == 1
        client.timeout_s = 0.2
        with pytest.raises(NoAnswerError):
            client.where("drone")  # only the late answer about the mast is there
        assert service.poll(PATIENCE_S) == 1


@pytest.mark.parametrize("answer", [b"", b"{", b'{"id": 1, "result": "\xff"}', b"[" * 5000])
def test_what_is_no_answer_is_told_as_such(answer: bytes) -> None:
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
    with socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        with Client(f"tcp://127.0.0.1:{port}", timeout_s=20.0) as client:
            assert client._link.send([b"who are you?"], 5.0)
            route = socket.recv_multipart()[0]
            socket.send_multipart([route, b"", answer])
            with pytest.raises(MessageError, match="expected an answer of the service, got "):
                client.scene()


def test_wrong_endpoints_are_refused_with_a_reason() -> None:
    for endpoint in ("nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:http"):
        with pytest.raises(DioramaError):
            Client(endpoint)
        with pytest.raises(DioramaError):
            Service(small_world(), endpoint)
    with pytest.raises(DioramaError, match="--insecure"):
        Service(small_world(), "tcp://*:0")
    with Service(small_world(), ANY_PORT) as service, pytest.raises(DioramaError, match="in use"):
        Service(small_world(), service.endpoint)


def test_too_many_points_corners_and_names_are_refused() -> None:
    limits = Limits(points=100, polygon_corners=10)
    with asking(small_world(), limits=limits) as client:
        points = np.zeros((101, 3))
        for ask in (
            lambda: client.convert(points, "ned", "enu"),
            lambda: client.request("convert", source="ned", target="enu", points=points.tolist()),
        ):
            with pytest.raises(RequestError, match="at most 100") as caught:
                ask()
            assert caught.value.code == "too_many"
        assert len(client.convert(np.zeros((100, 3)), "ned", "enu")) == 100
        with pytest.raises(RequestError, match="at most 10 corners"):
            client.within_polygon([(0.0, 0.0)] * 11)
        with pytest.raises(RequestError, match="at most 100"):
            client.set_poses(["mast"] * 101, np.zeros((101, 7)))
