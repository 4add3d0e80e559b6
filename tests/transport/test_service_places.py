"""The service over real sockets: where things are, against numbers from elsewhere."""

import numpy as np
import pyproj
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from diorama.ecs import World, matrix_world, propagate
from diorama.geo import AXES, FRAMES, Origin
from diorama.schemas.errors import GeoError
from diorama.tests.transport.serving import HOUSTON, ROUNDING, asking, scattered_world, small_world

MICROMETRE = 1e-6


def pyproj_ecef(lla: NDArray[np.float64]) -> NDArray[np.float64]:
    transformer = pyproj.Transformer.from_crs("EPSG:4979", "EPSG:4978")
    return np.stack(transformer.transform(*lla.T), axis=1)


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
