"""The pieces of ground a generated terrain is made of: numbers in, boxes and height fields out.

A piece covers x from 0 to size[0] and y from 0 to size[1] (m, z up); the ground around it is at z = 0.
`difficulty` runs from 0 to 1 and picks the value inside every `…_range`.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Range = tuple[float, float]

# Ground reaches this far down, so that fast feet do not pass through it. Metres.
THICKNESS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One piece of ground: where a robot may stand, boxes as (centre, half size), heights on a grid.

    `heights` has a row per y and a column per x, both edges included; it is None where boxes are enough.
    """

    origin: tuple[float, float, float]
    boxes: Floats = field(default_factory=lambda: np.zeros((0, 6)))
    heights: Floats | None = None


def at_difficulty(bounds: Range, difficulty: float) -> float:
    """The value of a range at a difficulty."""
    return bounds[0] + difficulty * (bounds[1] - bounds[0])


def block(x: Range, y: Range, top: float, bottom: float = -THICKNESS) -> list[float]:
    """A box between the given bounds as centre and half size, six numbers."""
    low, high = np.array([x[0], y[0], bottom]), np.array([x[1], y[1], top])
    return [*((low + high) / 2), *((high - low) / 2)]


def height_grid(size: tuple[float, float], spacing: float) -> tuple[Floats, Floats]:
    """Coordinates of a height field's points, x and y of shape (rows, columns)."""
    x, y = (np.linspace(0.0, length, max(round(length / spacing), 1) + 1) for length in size)
    grid_x, grid_y = np.meshgrid(x, y)
    return grid_x, grid_y


def edge_distance(size: tuple[float, float], spacing: float) -> Floats:
    """Distance of every point of the height field to the nearest edge."""
    x, y = height_grid(size, spacing)
    return np.minimum(np.minimum(x, size[0] - x), np.minimum(y, size[1] - y))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTerrainCfg:
    """Any piece: `proportion` is its share of the patches."""

    proportion: float = 1.0

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:
        """Make the piece."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTerrainCfg(SubTerrainCfg):
    """Level ground."""

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:  # noqa: ARG002
        """Make the piece: one box."""
        return Patch(
            origin=(size[0] / 2, size[1] / 2, 0.0),
            boxes=np.array([block((0.0, size[0]), (0.0, size[1]), 0.0)]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StairsTerrainCfg(SubTerrainCfg):
    """Stairs from all four sides up to a platform in the middle, or down to it (`inverted`)."""

    step_height_range: Range = (0.0, 0.2)
    step_width: float = 0.3
    platform_width: float = 3.0
    border_width: float = 0.0
    inverted: bool = False

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:  # noqa: ARG002
        """Make the piece: one box per step up; four per step down, which must leave the middle open."""
        rise = at_difficulty(self.step_height_range, difficulty)
        room = min(size) - 2 * self.border_width - self.platform_width
        steps = max(int(room / 2 / self.step_width + 1e-9), 0) + 1
        insets = self.border_width + np.arange(steps) * self.step_width
        whole = ((0.0, size[0]), (0.0, size[1]))
        levels = [whole, *(((inset, size[0] - inset), (inset, size[1] - inset)) for inset in insets)]
        if self.inverted:
            bottom = -steps * rise - THICKNESS
            boxes = [block(*levels[-1], top=-steps * rise, bottom=bottom)]
            for level, (outer, inner) in enumerate(pairwise(levels)):
                boxes += _ring(outer, inner, top=-level * rise, bottom=bottom)
        else:
            boxes = [block(*area, top=level * rise) for level, area in enumerate(levels)]
        height = -steps * rise if self.inverted else steps * rise
        return Patch(origin=(size[0] / 2, size[1] / 2, height), boxes=np.array(boxes))


def _ring(
    outer: tuple[Range, Range], inner: tuple[Range, Range], top: float, bottom: float
) -> list[list[float]]:
    """Up to four boxes that fill one rectangle except for another inside it."""
    (x0, x1), (y0, y1) = outer
    (a0, a1), (b0, b1) = inner
    sides = [((x0, a0), (y0, y1)), ((a1, x1), (y0, y1)), ((a0, a1), (y0, b0)), ((a0, a1), (b1, y1))]
    return [block(x, y, top, bottom) for x, y in sides if x[1] > x[0] and y[1] > y[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlopeTerrainCfg(SubTerrainCfg):
    """A pyramid with a flat top, or a pit with a flat floor (`inverted`); slopes are rise over run."""

    slope_range: Range = (0.0, 0.7)
    platform_width: float = 2.0
    border_width: float = 0.0
    horizontal_scale: float = 0.1
    inverted: bool = False

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:  # noqa: ARG002
        """Make the piece: a height field."""
        slope = at_difficulty(self.slope_range, difficulty) * (-1.0 if self.inverted else 1.0)
        longest = max(min(size) / 2 - self.platform_width / 2 - self.border_width, 0.0)
        run = np.clip(edge_distance(size, self.horizontal_scale) - self.border_width, 0.0, longest)
        return Patch(origin=(size[0] / 2, size[1] / 2, slope * longest), heights=slope * run)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoughTerrainCfg(SubTerrainCfg):
    """Uneven ground: every point is drawn from `noise_range` in multiples of `noise_step` (m)."""

    noise_range: Range = (0.02, 0.10)
    noise_step: float = 0.02
    horizontal_scale: float = 0.1
    border_width: float = 0.25

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:
        """Make the piece: a height field whose roughness grows with difficulty, level at its border."""
        edge = edge_distance(size, self.horizontal_scale)
        low, high = self.noise_range[0], at_difficulty(self.noise_range, difficulty)
        choices = int((high - low) / self.noise_step + 1e-9) + 1
        noise = low + rng.integers(0, choices, edge.shape) * self.noise_step
        heights = np.where(edge < self.border_width - 1e-9, 0.0, noise)
        rows, columns = (count // 2 for count in heights.shape)
        middle = heights[rows - 5 : rows + 6, columns - 5 : columns + 6]
        return Patch(origin=(size[0] / 2, size[1] / 2, float(middle.max())), heights=heights)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveTerrainCfg(SubTerrainCfg):
    """Waves along x and y with a common height."""

    amplitude_range: Range = (0.0, 0.2)
    num_waves: float = 4.0
    horizontal_scale: float = 0.1
    border_width: float = 0.25

    def build(self, difficulty: float, size: tuple[float, float], rng: np.random.Generator) -> Patch:  # noqa: ARG002
        """Make the piece: a height field, level at its border."""
        amplitude = at_difficulty(self.amplitude_range, difficulty)
        x, y = height_grid(size, self.horizontal_scale)
        turns = 2 * np.pi * self.num_waves
        waves = amplitude / 2 * (np.sin(turns * x / size[0]) + np.cos(turns * y / size[1]))
        heights = np.where(edge_distance(size, self.horizontal_scale) < self.border_width - 1e-9, 0.0, waves)
        return Patch(origin=(size[0] / 2, size[1] / 2, amplitude), heights=heights)


# The names mjlab uses.
BoxFlatTerrainCfg = FlatTerrainCfg
BoxPyramidStairsTerrainCfg = StairsTerrainCfg
HfPyramidSlopedTerrainCfg = SlopeTerrainCfg
HfRandomUniformTerrainCfg = RoughTerrainCfg
HfWaveTerrainCfg = WaveTerrainCfg


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxInvertedPyramidStairsTerrainCfg(StairsTerrainCfg):
    """Stairs down to the middle, under mjlab's name."""

    inverted: bool = True
