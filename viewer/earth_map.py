"""The map: where on Earth it happens, from the whole globe down to metres, as SVG that needs no network.

Mercator, since it keeps shapes at every place and every scale; a scale bar holds at the middle of the map.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from math import asinh, atan, cos, degrees, floor, log10, pi, radians, sinh, tan

import numpy as np
from numpy.typing import NDArray

from diorama.viewer.coastlines import LAND, Detail, Lines, borders, coastlines

Floats = NDArray[np.float64]
RADIUS = 6_378_137.0
NEAREST, FARTHEST = 0.02, 150_000.0  # metres a pixel
EDGE_DEG = 85.0  # Mercator goes no further towards the poles
FAR_PX = 60_000.0
LONGEST_EDGE = 60_000.0  # m
GLOBE_WIDTH, GLOBE_HEIGHT = 84, 50
GLOBE_SCALE = 2 * pi * RADIUS * cos(radians(12.0)) / GLOBE_WIDTH
WATER, GROUND, SHORE, BORDER, GRID = "#cfe3f3", "#eef1e6", "#8fa9bd", "#b9bfae", "#9db2c4"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapView:
    """What part of the Earth is shown: its middle (degrees), metres a pixel there, and the size in pixels."""

    latitude_deg: float = 0.0
    longitude_deg: float = 0.0
    metres_per_pixel: float = FARTHEST
    width: int = 288
    height: int = 300

    def pixels(self, longitude_deg: Floats, latitude_deg: Floats) -> Floats:
        """(n, 2) pixels, x right and y down, of places; the shorter way around the Earth."""
        east = np.remainder(longitude_deg - self.longitude_deg + 180.0, 360.0) - 180.0
        return self.flat_pixels(self.longitude_deg + east, latitude_deg)

    def flat_pixels(self, longitude_deg: Floats, latitude_deg: Floats) -> Floats:
        """The same, with longitudes that may go beyond ±180°."""
        per_radian = RADIUS * cos(radians(self.latitude_deg)) / self.metres_per_pixel
        east = longitude_deg - self.longitude_deg
        y = np.arcsinh(np.tan(np.radians(np.clip(latitude_deg, -EDGE_DEG, EDGE_DEG))))
        y0 = asinh(tan(radians(self.latitude_deg)))
        return np.column_stack(
            [0.5 * self.width + np.radians(east) * per_radian, 0.5 * self.height - (y - y0) * per_radian]
        )

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Longitude and latitude (degrees) of a pixel."""
        per_radian = RADIUS * cos(radians(self.latitude_deg)) / self.metres_per_pixel
        longitude = self.longitude_deg + degrees((x - 0.5 * self.width) / per_radian)
        rise = asinh(tan(radians(self.latitude_deg))) - (y - 0.5 * self.height) / per_radian
        return (longitude + 180.0) % 360.0 - 180.0, degrees(atan(sinh(rise)))

    def zoomed(self, factor: float, x: float | None = None, y: float | None = None) -> "MapView":
        """Nearer by a factor, the place under a pixel staying where it is."""
        scale = min(max(self.metres_per_pixel / factor, NEAREST), FARTHEST)
        px, py = (0.5 * self.width if x is None else x), (0.5 * self.height if y is None else y)
        kept = 1.0 - scale / self.metres_per_pixel
        moved = self.panned((px - 0.5 * self.width) * kept, (py - 0.5 * self.height) * kept)
        return replace(moved, metres_per_pixel=scale)

    def panned(self, right: float, down: float) -> "MapView":
        """The middle moved by pixels."""
        longitude, latitude = self.place(0.5 * self.width + right, 0.5 * self.height + down)
        return replace(self, longitude_deg=longitude, latitude_deg=min(max(latitude, -84.0), 84.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something on the map: a place, and a heading (rad east of north) when it moves."""

    name: str
    latitude_deg: float
    longitude_deg: float
    heading: float | None = None
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """A footprint or a trail: (n, 2) longitude and latitude in degrees."""

    places: Floats
    closed: bool


def map_svg(view: MapView, *, marks: Sequence[Mark] = (), outlines: Sequence[Outline] = ()) -> str:
    """The map with what is on it."""
    style = f"display:block;background:{WATER};border-radius:6px;touch-action:none;font:9px Inter,system-ui,sans-serif"
    parts = [
        f"<svg viewBox='0 0 {view.width} {view.height}' width='100%' style='{style}'>",
        _earth(view),
        _graticule(view),
        *(_outline(view, outline) for outline in outlines),
        *(_mark(view, mark) for mark in marks),
        _inset(view) if view.metres_per_pixel < 20_000 else "",
        _scale_bar(view),
        "</svg>",
    ]
    return "".join(parts)


def fitted(view: MapView, latitude_deg: Floats, longitude_deg: Floats) -> MapView:
    """The view that shows these places."""
    if not len(latitude_deg):
        return view
    south, north, west, east = (
        latitude_deg.min(),
        latitude_deg.max(),
        longitude_deg.min(),
        longitude_deg.max(),
    )
    latitude, longitude = 0.5 * (south + north), 0.5 * (west + east)
    tall = radians(north - south) * RADIUS / view.height
    wide = radians(east - west) * RADIUS * cos(radians(latitude)) / view.width
    scale = min(max(1.15 * max(tall, wide), 0.1), FARTHEST)
    return replace(
        view, latitude_deg=float(latitude), longitude_deg=float(longitude), metres_per_pixel=float(scale)
    )


def round_length(length: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not longer (m)."""
    power = 10.0 ** floor(log10(length))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= length * (1 + 1e-9))


# -- inside ------------------------------------------------------------------------------------------------------


def _window(view: MapView) -> tuple[float, float, float, float]:
    """West, south, east, north of the map (degrees); west may be below -180 and east above 180."""
    half = degrees(0.5 * view.width * view.metres_per_pixel / RADIUS / cos(radians(view.latitude_deg)))
    south, north = view.place(0, view.height)[1], view.place(0, 0)[1]
    return view.longitude_deg - half, south, view.longitude_deg + half, north


@lru_cache(maxsize=8)
def _earth(view: MapView) -> str:
    detail: Detail = "c" if view.metres_per_pixel > 20_000 else "l" if view.metres_per_pixel > 1500 else "i"
    land: list[str] = []
    water: list[str] = []
    lines = coastlines(detail)
    for number, turn in _meeting(lines, view):
        path = _path(view, lines.line(number), turn)
        if path:
            (land if lines.kind[number] % 2 else water).append(f"{path}Z")
    frontiers = borders(detail)
    crossed = "".join(_path(view, frontiers.line(number), turn) for number, turn in _meeting(frontiers, view))
    return (
        f"<path d='{''.join(land)}' fill='{GROUND}' stroke='{SHORE}' stroke-width='.7'/>"
        f"<path d='{''.join(water)}' fill='{WATER}' stroke='{SHORE}' stroke-width='.5'/>"
        f"<path d='{crossed}' fill='none' stroke='{BORDER}' stroke-width='.7' stroke-dasharray='3 2'/>"
    )


def _meeting(lines: Lines, view: MapView) -> list[tuple[int, float]]:
    """The lines on the map, and by how many degrees each is turned round the Earth to be there."""
    west, south, east, north = _window(view)
    turns = (-360.0, 0.0, 360.0)
    return [
        (number, turn) for turn in turns for number in lines.within(west - turn, south, east - turn, north)
    ]


def _path(view: MapView, line: Floats, turn: float = 0.0) -> str:
    """A line as SVG, without what would be nearer than a pixel to its neighbour, and coarse where nobody looks."""
    # Far enough out that cutting off there bends no edge in sight: edges are no longer than this.
    far = min(FAR_PX, max(2000.0, LONGEST_EDGE / view.metres_per_pixel))
    points = np.clip(view.flat_pixels(line[:, 0] + turn, line[:, 1]), -far, far)
    outside = np.any(
        (points < -50.0) | (points > np.array([view.width, view.height]) + 50.0), axis=1, keepdims=True
    )
    cell = np.round(np.where(outside, points / 60.0 + 1e6, points))
    kept = np.ones(len(points), np.bool_)
    kept[1:] = (cell[1:] != cell[:-1]).any(axis=1)
    points = points[kept]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points.tolist()) if len(points) > 2 else ""


def _graticule(view: MapView) -> str:
    """Meridians and parallels at round degrees, with their numbers at the edge."""
    west, south, east, north = _window(view)
    step = _round_degrees((east - west) / 3)
    digits = max(0, -floor(log10(step) + 1e-9))
    parts = []
    for k in range(floor(west / step) + 1, floor(east / step) + 1):
        x = view.pixels(np.array([k * step]), np.array([view.latitude_deg]))[0, 0]
        text = (
            f"{abs((k * step + 180) % 360 - 180):.{digits}f}°{'W' if (k * step + 180) % 360 < 180 else 'E'}"
        )
        parts.append(f"<path d='M{x:.1f} 0V{view.height}'/><text x='{x + 2:.1f}' y='9'>{text}</text>")
    for k in range(floor(max(south, -80) / step) + 1, floor(min(north, 80) / step) + 1):
        y = view.pixels(np.array([view.longitude_deg]), np.array([k * step]))[0, 1]
        text = f"{abs(k * step):.{digits}f}°{'N' if k >= 0 else 'S'}"
        parts.append(f"<path d='M0 {y:.1f}H{view.width}'/><text x='2' y='{y - 2:.1f}'>{text}</text>")
    lines = "".join(parts).replace("<text", "<text stroke='none' fill='#6b8093' font-size='8'")
    return f"<g stroke='{GRID}' stroke-width='.5' opacity='.8'>{lines}</g>"


def _outline(view: MapView, outline: Outline) -> str:
    points = np.clip(view.pixels(outline.places[:, 0], outline.places[:, 1]), -FAR_PX, FAR_PX)
    if len(points) < 2 or not _visible(view, points):
        return ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points.tolist())
    if outline.closed:
        return f"<path d='{path}Z' fill='#c3cad2' stroke='#9aa5b0' stroke-width='.4'/>"
    return f"<path d='{path}' fill='none' stroke='#2e74d6' stroke-width='1' opacity='.55'/>"


def _mark(view: MapView, mark: Mark) -> str:
    points = view.pixels(np.array([mark.longitude_deg]), np.array([mark.latitude_deg]))
    if not _visible(view, points):
        return ""
    x, y = points[0].tolist()
    color = "#d6332e" if mark.selected else "#1f5fc4"
    size = 6.5 if mark.selected else 4.5
    form = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{0.6 * size:.1f}' fill='{color}' stroke='#fff'/>"
    if mark.heading is not None:
        arrow = f"M0 {-size}L{0.7 * size} {0.9 * size}L0 {0.45 * size}L{-0.7 * size} {0.9 * size}Z"
        turned = f"translate({x:.1f} {y:.1f}) rotate({degrees(mark.heading):.0f})"
        form = f"<path d='{arrow}' transform='{turned}' fill='{color}' stroke='#fff' stroke-width='.8'/>"
    name = (
        f"<text x='{x + 8:.1f}' y='{y + 3:.1f}' fill='{color}' font-weight='600'>{escape(mark.name)}</text>"
    )
    return form + (name if mark.selected else "")


def _inset(view: MapView) -> str:
    """The whole Earth in a corner, with a point where the map is."""
    globe = MapView(latitude_deg=12.0, metres_per_pixel=GLOBE_SCALE, width=GLOBE_WIDTH, height=GLOBE_HEIGHT)
    x, y = globe.pixels(np.array([view.longitude_deg]), np.array([view.latitude_deg]))[0].tolist()
    place, size = (
        (view.width - GLOBE_WIDTH - 4, view.height - GLOBE_HEIGHT - 4),
        f"width='{GLOBE_WIDTH}' height='{GLOBE_HEIGHT}'",
    )
    return (
        f"<g transform='translate{place}'><rect {size} rx='3' fill='{WATER}' stroke='#fff'/><svg {size}>"
        f"{_continents(globe)}<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='#d6332e' stroke='#fff'/></svg></g>"
    )


@lru_cache(maxsize=2)
def _continents(globe: MapView) -> str:
    lines = coastlines("c")
    large = [
        number
        for number in range(len(lines.kind))
        if lines.kind[number] == LAND and len(lines.line(number)) > 30
    ]
    path = "".join(f"{_path(globe, lines.line(number))}Z" for number in large)
    return f"<path d='{path}' fill='#fff' stroke='{SHORE}' stroke-width='.3'/>"


def _scale_bar(view: MapView) -> str:
    length = round_length(0.33 * view.width * view.metres_per_pixel)
    pixels = length / view.metres_per_pixel
    text = (
        f"{length / 1000:g} km"
        if length >= 1000
        else f"{length:g} m"
        if length >= 1
        else f"{100 * length:g} cm"
    )
    y = view.height - 8
    return (
        f"<g stroke='#25303b' fill='none' stroke-width='1.5'><path d='M8 {y - 4}V{y}H{8 + pixels:.1f}V{y - 4}'/></g>"
        f"<text x='{8 + 0.5 * pixels:.1f}' y='{y - 4}' text-anchor='middle' fill='#25303b'>{text}</text>"
    )


def _visible(view: MapView, points: Floats) -> bool:
    low, high = points.min(axis=0), points.max(axis=0)
    return bool(
        high[0] >= -20 and high[1] >= -20 and low[0] <= view.width + 20 and low[1] <= view.height + 20
    )


def _round_degrees(step: float) -> float:
    nice = (60.0, 30.0, 15.0, 10.0, 5.0, 2.0, 1.0)
    return next((value for value in nice if value <= step), None) or round_length(max(step, 1e-7))
