"""The ground of a scene: an endless plane, or a grid of generated patches that get harder row by row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.physics.origins import grid_origins, share
from diorama.physics.terrain_shapes import (
    FlatTerrainCfg,
    Patch,
    RoughTerrainCfg,
    SlopeTerrainCfg,
    StairsTerrainCfg,
    SubTerrainCfg,
    WaveTerrainCfg,
    at_difficulty,
)
from diorama.schemas.errors import SceneError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TerrainGeneratorCfg:
    """A grid of `num_rows` by `num_cols` patches of `size` (m), rows along x.

    With `curriculum` a column is a kind of ground (`num_cols` is then the number of kinds) and difficulty
    rises from row to row; without it every patch draws its kind by proportion and its difficulty at random.
    A level border surrounds the grid. `seed` overrides the scene's.
    """

    size: tuple[float, float]
    sub_terrains: Mapping[str, SubTerrainCfg]
    num_rows: int = 1
    num_cols: int = 1
    border_width: float = 0.0
    border_height: float = 1.0
    curriculum: bool = False
    difficulty_range: tuple[float, float] = (0.0, 1.0)
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TerrainEntityCfg:
    """The ground: a `plane`, or patches from a `generator`.

    Environments start on rows 0 to `max_init_terrain_level` (None: any row). `env_spacing` overrides the
    scene's for the grid on a plane. `origin_sites` adds the markers of origins (spheres in group 4) to the
    stepped model too; exported models always have them.
    """

    terrain_type: Literal["plane", "generator"] = "plane"
    terrain_generator: TerrainGeneratorCfg | None = None
    env_spacing: float | None = None
    max_init_terrain_level: int | None = None
    friction: tuple[float, float, float] = (1.0, 0.005, 0.0001)
    rgba: tuple[float, float, float, float] = (0.5, 0.55, 0.5, 1.0)
    origin_sites: bool = False

    def __post_init__(self) -> None:
        if self.terrain_type not in ("plane", "generator"):
            raise SceneError(
                f"terrain: expected terrain_type 'plane' or 'generator', got {self.terrain_type!r}"
            )
        if self.terrain_type == "generator" and self.terrain_generator is None:
            raise SceneError(
                "terrain: terrain_type is 'generator' but terrain_generator is None; "
                "give a TerrainGeneratorCfg, such as ROUGH_TERRAINS_CFG"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPatch:
    """A patch of the grid with the place of its corner in the world."""

    kind: str
    corner: tuple[float, float]
    patch: Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTerrain:
    """All patches, a border, the origins (rows, columns, 3), and each column's share of environments."""

    patches: tuple[PlacedPatch, ...]
    border: Floats
    origins: Floats
    proportions: tuple[float, ...] | None


def generate(cfg: TerrainGeneratorCfg, rng: np.random.Generator) -> GeneratedTerrain:
    """Make every patch of the grid, centred on the world's origin."""
    if not cfg.sub_terrains:
        raise SceneError("terrain_generator: expected at least one of sub_terrains, got none")
    kinds = list(cfg.sub_terrains)
    weights = np.array([cfg.sub_terrains[kind].proportion for kind in kinds], dtype=np.float64)
    rows, columns = cfg.num_rows, len(kinds) if cfg.curriculum else cfg.num_cols
    if rows < 1 or columns < 1:
        raise SceneError(f"terrain_generator: expected at least one row and column, got {rows} x {columns}")
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise SceneError(
            f"terrain_generator: expected proportions not below 0, one above, got {weights.tolist()}"
        )
    corner = (-rows * cfg.size[0] / 2, -columns * cfg.size[1] / 2)
    origins = np.zeros((rows, columns, 3))
    patches = []
    for row, column in np.ndindex(rows, columns):
        if cfg.curriculum:
            kind, fraction = kinds[column], row / max(rows - 1, 1)
        else:
            kind, fraction = kinds[rng.choice(len(kinds), p=weights / weights.sum())], rng.random()
        patch = cfg.sub_terrains[kind].build(at_difficulty(cfg.difficulty_range, fraction), cfg.size, rng)
        at = (corner[0] + row * cfg.size[0], corner[1] + column * cfg.size[1])
        origins[row, column] = np.add((*at, 0.0), patch.origin)
        patches.append(PlacedPatch(kind=kind, corner=at, patch=patch))
    return GeneratedTerrain(
        patches=tuple(patches),
        border=_border(cfg, corner),
        origins=origins,
        proportions=tuple(weights) if cfg.curriculum else None,
    )


def _border(cfg: TerrainGeneratorCfg, corner: tuple[float, float]) -> Floats:
    """Four boxes around the grid as centre and half size, (4, 6), or none."""
    if cfg.border_width <= 0.0:
        return np.zeros((0, 6))
    x, y = -corner[0], -corner[1]
    half, down = cfg.border_width / 2, cfg.border_height / 2
    long_side = x + cfg.border_width
    return np.array(
        [
            [0.0, y + half, -down, long_side, half, down],
            [0.0, -y - half, -down, long_side, half, down],
            [x + half, 0.0, -down, half, y, down],
            [-x - half, 0.0, -down, half, y, down],
        ]
    )


class Terrain:
    """The ground at run time: which patch every environment stands on, and where that is.

    `env_origins` (environments, 3) is in metres, z up. `terrain_origins`, `terrain_levels` (rows) and
    `terrain_types` (columns) are None on a plane.
    """

    def __init__(
        self, cfg: TerrainEntityCfg | None, num_envs: int, env_spacing: float, rng: np.random.Generator
    ) -> None:
        self.cfg = cfg
        self.generated: GeneratedTerrain | None = None
        self.terrain_origins: Floats | None = None
        self.terrain_levels: NDArray[np.int64] | None = None
        self.terrain_types: NDArray[np.int64] | None = None
        self._rng = rng
        generator = cfg.terrain_generator if cfg and cfg.terrain_type == "generator" else None
        if generator is None:
            spacing = cfg.env_spacing if cfg and cfg.env_spacing is not None else env_spacing
            self.env_origins = grid_origins(num_envs, spacing)
            return
        draws = rng if generator.seed is None else np.random.default_rng(generator.seed)
        self.generated = generate(generator, draws)
        self.terrain_origins = self.generated.origins
        rows, columns, _ = self.terrain_origins.shape
        highest = rows - 1
        if cfg is not None and cfg.max_init_terrain_level is not None:
            highest = min(cfg.max_init_terrain_level, rows - 1)
        if highest < 0:
            raise SceneError(f"terrain: expected max_init_terrain_level not below 0, got {highest}")
        self.terrain_levels = rng.integers(0, highest + 1, num_envs)
        if self.generated.proportions is not None:
            self.terrain_types = share(num_envs, self.generated.proportions)
        else:
            self.terrain_types = np.arange(num_envs) * columns // num_envs
        self.env_origins = self.terrain_origins[self.terrain_levels, self.terrain_types]

    def update_env_origins(self, env_ids: ArrayLike, move_up: ArrayLike, move_down: ArrayLike) -> None:
        """Move environments to a harder or easier row; they stand there after their next reset.

        `move_up` and `move_down` are booleans, one per environment of `env_ids`. Who is past the hardest
        row goes to any row.
        """
        if self.terrain_origins is None or self.terrain_levels is None or self.terrain_types is None:
            return
        ids = np.asarray(env_ids)
        rows = len(self.terrain_origins)
        levels = (
            self.terrain_levels[ids]
            + np.asarray(move_up, dtype=np.int64)
            - np.asarray(move_down, dtype=np.int64)
        )
        anywhere = self._rng.integers(0, rows, levels.shape)
        self.terrain_levels[ids] = np.where(levels >= rows, anywhere, np.maximum(levels, 0))
        self.env_origins[ids] = self.terrain_origins[self.terrain_levels[ids], self.terrain_types[ids]]


ROUGH_TERRAINS_CFG = TerrainGeneratorCfg(
    size=(8.0, 8.0),
    border_width=20.0,
    num_rows=10,
    num_cols=20,
    sub_terrains={
        "flat": FlatTerrainCfg(proportion=0.2),
        "pyramid_stairs": StairsTerrainCfg(proportion=0.2, step_height_range=(0.0, 0.1), border_width=1.0),
        "pyramid_stairs_inv": StairsTerrainCfg(
            proportion=0.2, step_height_range=(0.0, 0.1), border_width=1.0, inverted=True
        ),
        "pyramid_slope": SlopeTerrainCfg(proportion=0.1, border_width=0.25),
        "pyramid_slope_inv": SlopeTerrainCfg(proportion=0.1, border_width=0.25, inverted=True),
        "random_rough": RoughTerrainCfg(proportion=0.1),
        "waves": WaveTerrainCfg(proportion=0.1),
    },
)
