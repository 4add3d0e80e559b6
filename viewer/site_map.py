"""What of a world is on the map: marks for what moves, footprints of what stands, trails."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Bounds, Entity, World
from diorama.ecs.locate import earth_of, locate
from diorama.geo import lla_from_ned
from diorama.geo.rotation import rotate
from diorama.viewer.earth_map import FARTHEST, MapView, Mark, Outline, fitted, map_svg
from diorama.viewer.overlays import Trails

Floats = NDArray[np.float64]
MOST_FOOTPRINTS = 600
FOOTPRINT_SCALE = 6.0  # metres a pixel; footprints are too small to see further out
_FLOOR = np.array([(-0.5, -0.5, 0.0), (0.5, -0.5, 0.0), (0.5, 0.5, 0.0), (-0.5, 0.5, 0.0)])


class SiteMap:
    """The map of one scene: what part of the Earth it shows, and what stands there."""

    def __init__(self) -> None:
        self.view = MapView()
        self._footprints: list[Outline] = []

    def stand(self, world: World, still: list[Entity]) -> None:
        """Take the footprints of what stands still."""
        self._footprints = footprints(world, still)

    def draw(self, world: World, trails: Trails, selected: Entity | None) -> str:
        """The map as SVG, or a word on why there is none."""
        if world.origin is None:
            return "<small>This scene has no place on Earth.</small>"
        standing = self._footprints if self.view.metres_per_pixel < FOOTPRINT_SCALE else []
        outlines = [*standing, *trails_on_map(world, trails)]
        return map_svg(self.view, marks=marks(world, trails.entities.tolist(), selected), outlines=outlines)

    def navigate(self, world: World, verb: str, argument: str, selected: Entity | None) -> None:
        """Do what was asked: `zoom FACTOR [X Y]` or `pan X Y` in pixels, `map site`, `map world`, `map selected`."""
        if verb == "map":
            self._turn_to(world, argument, selected)
            return
        try:
            numbers = [float(word) for word in argument.split()]
        except ValueError:
            return
        if verb == "zoom" and len(numbers) in (1, 3) and numbers[0] > 0.0:
            self.view = self.view.zoomed(*numbers)
        elif verb == "pan" and len(numbers) == 2:
            self.view = self.view.panned(*numbers)

    def _turn_to(self, world: World, what: str, selected: Entity | None) -> None:
        if what == "world":
            self.view = replace(self.view, metres_per_pixel=FARTHEST)
        elif world.origin is None:
            return
        elif what == "selected" and selected is not None:
            latitude, longitude, _ = locate(world, [world.row(selected)]).lla[0].tolist()
            near = min(self.view.metres_per_pixel, 0.5)
            self.view = replace(
                self.view, latitude_deg=latitude, longitude_deg=longitude, metres_per_pixel=near
            )
        elif len(world):
            low, high = np.percentile(locate(world).lla, [2, 98], axis=0)
            self.view = fitted(self.view, np.array([low[0], high[0]]), np.array([low[1], high[1]]))


def marks(world: World, entities: list[Entity], selected: Entity | None) -> list[Mark]:
    """Arrows where these are, pointing ahead; the selected one among them or not."""
    chosen = [
        *(entity for entity in entities if entity != selected),
        *([selected] if selected is not None else []),
    ]
    if not chosen:
        return []
    rows = world.rows(chosen)
    places = locate(world, rows).lla.tolist()
    ahead = rotate(world.table.pose[rows, 3:7], (1.0, 0.0, 0.0))
    heading = np.arctan2(ahead[:, 1], ahead[:, 0]).tolist()
    return [
        Mark(
            name=world.name(entity),
            latitude_deg=lat,
            longitude_deg=lon,
            heading=turn,
            selected=entity == selected,
        )
        for entity, (lat, lon, _), turn in zip(chosen, places, heading, strict=True)
    ]


def trails_on_map(world: World, trails: Trails) -> list[Outline]:
    """Where things have been."""
    origin = earth_of(world)
    found = []
    for index in range(len(trails.entities)):
        places = trails.places(index)
        if len(places) > 1:
            lla = lla_from_ned(places, origin)
            found.append(Outline(lla[:, [1, 0]], closed=False))
    return found


def footprints(world: World, still: list[Entity]) -> list[Outline]:
    """The floors of the boxes of what stands still, the largest first."""
    with_bounds = [
        (entity, bounds) for entity in still if (bounds := world.try_get(entity, Bounds)) is not None
    ]
    with_bounds.sort(key=lambda pair: -pair[1].size[0] * pair[1].size[1])
    chosen = with_bounds[:MOST_FOOTPRINTS]
    if not chosen:
        return []
    pose = world.table.pose[world.rows([entity for entity, _ in chosen])]
    size = np.array([bounds.size for _, bounds in chosen])
    center = np.array([bounds.center for _, bounds in chosen])
    corners = pose[:, None, 7:10] * (center[:, None] + _FLOOR * size[:, None])
    floor = pose[:, None, 0:3] + rotate(pose[:, None, 3:7], corners)
    lla = lla_from_ned(floor.reshape(-1, 3), earth_of(world)).reshape(-1, 4, 3)
    return [Outline(corner[:, [1, 0]], closed=True) for corner in lla]
