"""Heights of terrain regions: written samples, an image, noise, or another region's."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, World
from diorama.formats.files import read_file
from diorama.formats.rscene.build import scene_lines
from diorama.formats.rscene.components import came_from
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.nodes import effective, overrides_of
from diorama.formats.rscene.png import decode_png
from diorama.formats.rscene.project import resolve_asset
from diorama.formats.rscene.references import id_of, path_of
from diorama.schemas.errors import Problem, SceneError

Floats = NDArray[np.float64]
# More would be a mistake in the file rather than a landscape.
MOST_OCTAVES = 32


def terrain_heights(world: World, entity: Entity, *, folder: str | Path = ".") -> Floats:
    """Heights of a region above its centre, metres up, shape (ySamples, xSamples); an image has its own shape.

    Rows go west, columns go north, as the file counts them. `folder` is that of the scene: images are looked for there
    and below its `asset_root`.
    """
    document = scene_lines(world)
    regions = _regions(world, document)
    record = regions.get(entity)
    if record is None:
        raise SceneError(f"entity {world.name(entity)!r}: expected a terrain_region")
    by_name = {name: region for region in regions.values() for name in (path_of(region), id_of(region))}
    seen = {id(record)}
    while record.get("sourceKind") == "clone":
        source = by_name.get(record.get("cloneSource"))
        if source is None or id(source) in seen:
            why = "no region has that id" if source is None else "it clones itself"
            raise SceneError(_problem(world, entity, f"cloneSource {record.get('cloneSource')!r}: {why}"))
        seen.add(id(source))
        record = source
    if record.get("sourceKind") == "png":
        image = resolve_asset(record.get("sourcePath"), Path(folder) / "scene", document) or Path(folder)
        return _image_heights(world, entity, record, image)
    return _heights(world, entity, record)


def terrain_points(world: World, entity: Entity, *, folder: str | Path = ".") -> Floats:
    """The samples of a region as points in its own axes (north, east, down; metres), shape (ny, nx, 3)."""
    heights = terrain_heights(world, entity, folder=folder)
    record = _regions(world, scene_lines(world))[entity]
    rows, columns = heights.shape
    north = np.linspace(-0.5, 0.5, columns) * record.get("xSize")
    west = np.linspace(-0.5, 0.5, rows) * record.get("ySize")
    points = np.empty((rows, columns, 3))
    points[:, :, 0], points[:, :, 1], points[:, :, 2] = north, -west[:, None], -heights
    return points


def _regions(world: World, document: Document) -> dict[Entity, Record]:
    """The record of every region, with the overrides of the scene applied."""
    overrides = overrides_of(document)
    regions = {}
    for other in world.entities.tolist():
        came = came_from(world, other)
        if came is not None and came.text.lstrip(" \t\r").startswith("terrain_region"):
            regions[other] = effective(Record(came.to_bytes()), overrides)
    return regions


def _image_heights(world: World, entity: Entity, record: Record, image: Path) -> Floats:
    try:
        pixels = decode_png(read_file(image))
    except ValueError as error:
        raise SceneError(_problem(world, entity, f"sourcePath: {error}")) from None
    scaled: Floats = pixels * record.get("pngHeightScale") + record.get("pngHeightOffset")
    return scaled


def _heights(world: World, entity: Entity, record: Record) -> Floats:
    columns, rows = record.get("xSamples"), record.get("ySamples")
    if record.get("sourceKind") == "procedural":
        north = np.linspace(-0.5, 0.5, columns) * record.get("xSize")
        west = np.linspace(-0.5, 0.5, rows) * record.get("ySize")
        return _procedural(record, *np.meshgrid(north, west))
    heights: Floats = record.get("heights")
    if heights.size != rows * columns:
        raise SceneError(_problem(world, entity, f"heights: expected {columns} x {rows}, got {heights.size}"))
    return heights.reshape(rows, columns)


def _procedural(record: Record, x: Floats, y: Floats) -> Floats:
    """Octaves of gradient noise. The parameters are the engine's; its noise function is not published."""
    frequency, amplitude = record.get("proceduralFrequency"), 1.0
    total, weight = np.zeros_like(x), 0.0
    for octave in range(min(max(record.get("proceduralOctaves"), 1), MOST_OCTAVES)):
        seed = (record.get("proceduralSeed") + octave) % 2**32
        total += amplitude * gradient_noise(x * frequency, y * frequency, seed)
        weight += amplitude
        frequency *= record.get("proceduralLacunarity")
        amplitude *= record.get("proceduralGain")
    heights = record.get("proceduralZScale") * total / (weight or 1.0)
    step = record.get("proceduralStepSize")
    if step > 0:
        heights = np.round(heights / step) * step
    result: Floats = heights + record.get("proceduralHeightOffset")
    return result


def gradient_noise(x: Floats, y: Floats, seed: int) -> Floats:
    """Perlin noise in the plane: smooth, zero at whole coordinates, within -1 and 1."""
    table = np.random.default_rng(seed).permutation(256)
    angles = np.random.default_rng(seed + 2**32).uniform(0, 2 * np.pi, 256)
    column, row = np.floor(x), np.floor(y)
    across, along = x - column, y - row

    def corner(right: int, up: int) -> Floats:
        index = table[(table[(column + right).astype(np.int64) & 255] + (row + up).astype(np.int64)) & 255]
        dot: Floats = np.cos(angles[index]) * (across - right) + np.sin(angles[index]) * (along - up)
        return dot

    def fade(part: Floats) -> Floats:
        return part**3 * (part * (part * 6 - 15) + 10)

    u, v = fade(across), fade(along)
    lower = corner(0, 0) * (1 - u) + corner(1, 0) * u
    upper = corner(0, 1) * (1 - u) + corner(1, 1) * u
    noise: Floats = (lower * (1 - v) + upper * v) * np.sqrt(2)
    return noise


def _problem(world: World, entity: Entity, message: str) -> Problem:
    return Problem(message, path=f"terrain_region {world.name(entity)}")
