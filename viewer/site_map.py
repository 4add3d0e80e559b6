"""What of a world is on the map: marks for what moves, footprints of what stands, trails."""

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Bounds, Entity, World
from diorama.ecs.locate import earth_of, locate
from diorama.geo import lla_from_ned
from diorama.geo.rotation import rotate
from diorama.viewer.earth_map import MapView, Mark, Outline
from diorama.viewer.overlays import Trails

Floats = NDArray[np.float64]
MOST_FOOTPRINTS = 600
FOOTPRINT_SCALE = 6.0  # metres a pixel; footprints are too small to see further out
_FLOOR = np.array([(-0.5, -0.5, 0.0), (0.5, -0.5, 0.0), (0.5, 0.5, 0.0), (-0.5, 0.5, 0.0)])


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


def shows_footprints(view: MapView) -> bool:
    """Whether a map is near enough for footprints."""
    return view.metres_per_pixel < FOOTPRINT_SCALE
