"""Generated ground: its shapes by themselves, and what a ball meets on it."""

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.physics import (
    ROUGH_TERRAINS_CFG,
    EntityCfg,
    FlatTerrainCfg,
    InitialStateCfg,
    RoughTerrainCfg,
    Scene,
    SceneCfg,
    SlopeTerrainCfg,
    StairsTerrainCfg,
    SubTerrainCfg,
    TerrainEntityCfg,
    TerrainGeneratorCfg,
    WaveTerrainCfg,
)
from diorama.physics.terrain import Terrain, generate
from diorama.schemas.errors import SceneError
from diorama.tests.physics.models import arm, cube, hand

SIZE = (8.0, 6.0)
SHAPES: list[SubTerrainCfg] = [
    FlatTerrainCfg(),
    StairsTerrainCfg(border_width=0.5),
    StairsTerrainCfg(border_width=0.5, inverted=True),
    SlopeTerrainCfg(),
    SlopeTerrainCfg(inverted=True),
    RoughTerrainCfg(),
    WaveTerrainCfg(),
]
ENDS = 1e-6  # metres


def ground_height(model: mujoco.MjModel, x: float, y: float) -> float:
    """Height of what a ray from above meets, by MuJoCo's own ray casting."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    hit = np.zeros(1, np.int32)
    distance = mujoco.mj_ray(model, data, np.array([x, y, 50.0]), np.array([0.0, 0, -1]), None, 1, -1, hit)
    assert distance > 0, f"there is a hole at {x}, {y}"
    return float(50.0 - distance)


def one_patch(shape: SubTerrainCfg, difficulty: float = 1.0) -> Scene:
    generator = TerrainGeneratorCfg(
        size=SIZE, sub_terrains={"it": shape}, curriculum=True, difficulty_range=(difficulty, difficulty)
    )
    terrain = TerrainEntityCfg(terrain_type="generator", terrain_generator=generator)
    return Scene(SceneCfg(terrain=terrain))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_robot_at_the_origin_stands_on_the_ground(shape: SubTerrainCfg) -> None:
    scene = one_patch(shape)
    origin = scene.env_origins[0]
    below = ground_height(scene.compile(), origin[0], origin[1])
    exact = not isinstance(shape, RoughTerrainCfg | WaveTerrainCfg)
    assert below == pytest.approx(origin[2], abs=ENDS) if exact else below <= origin[2] + ENDS


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_ground_has_no_holes_and_is_level_at_the_edge(shape: SubTerrainCfg) -> None:
    model = one_patch(shape).compile()
    for x, y in np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2)) * SIZE * 0.999:
        ground_height(model, x, y)
    if isinstance(shape, StairsTerrainCfg | FlatTerrainCfg):
        assert ground_height(model, -SIZE[0] / 2 + 0.1, 0.3) == pytest.approx(0, abs=ENDS)


def test_stairs_rise_by_the_step_height() -> None:
    scene = one_patch(StairsTerrainCfg(border_width=0.5, step_height_range=(0.0, 0.2), step_width=0.3))
    model = scene.compile()
    xs = -SIZE[0] / 2 + 0.5 + 0.3 * np.arange(4) + 0.15
    heights = [ground_height(model, x, 0.0) for x in xs]
    np.testing.assert_allclose(heights, [0.2, 0.4, 0.6, 0.8], atol=ENDS)


def test_slope_is_rise_over_run() -> None:
    for inverted, sign in ((False, 1), (True, -1)):
        shape = SlopeTerrainCfg(slope_range=(0.0, 0.5), platform_width=1.0, inverted=inverted)
        model = one_patch(shape).compile()
        heights = [ground_height(model, -SIZE[0] / 2 + distance, 0.0) for distance in (0.5, 1.0, 2.0)]
        np.testing.assert_allclose(heights, np.multiply([0.25, 0.5, 1.0], sign), atol=1e-3)


def test_curriculum_has_a_column_per_kind_and_gets_harder_by_row() -> None:
    cfg = TerrainGeneratorCfg(
        size=SIZE,
        num_rows=4,
        num_cols=99,
        curriculum=True,
        sub_terrains={"flat": FlatTerrainCfg(), "stairs": StairsTerrainCfg()},
    )
    made = generate(cfg, np.random.default_rng(0))
    assert made.origins.shape == (4, 2, 3)
    assert [placed.kind for placed in made.patches[:4]] == ["flat", "stairs"] * 2
    assert np.all(np.diff(made.origins[:, 1, 2]) > 0)
    np.testing.assert_array_equal(made.origins[:, 0, 2], 0)
    # Centred: the first patch's middle is half a grid less half a patch from zero.
    np.testing.assert_allclose(made.origins[0, 0, :2], (-2 * 8 + 4, -6 + 3))


def test_levels_start_low_move_and_stay_in_the_grid() -> None:
    cfg = TerrainEntityCfg(
        terrain_type="generator", terrain_generator=ROUGH_TERRAINS_CFG, max_init_terrain_level=3
    )
    terrain = Terrain(cfg, 100, 2.0, np.random.default_rng(1))
    levels = terrain.terrain_levels
    assert levels is not None
    assert terrain.terrain_types is not None
    assert terrain.terrain_origins is not None
    assert set(levels) == {0, 1, 2, 3}
    before = levels.copy()
    ids = np.array([5, 17, 60])
    terrain.update_env_origins(ids, move_up=[True, False, False], move_down=[False, True, False])
    np.testing.assert_array_equal(levels[ids] - before[ids], [1, -1 if before[17] else 0, 0])
    terrain.update_env_origins(np.arange(100), np.zeros(100, bool), np.ones(100, bool))
    terrain.update_env_origins(np.arange(100), np.zeros(100, bool), np.ones(100, bool))
    assert levels.min() == 0
    for _ in range(30):
        terrain.update_env_origins(np.arange(100), np.ones(100, bool), np.zeros(100, bool))
        assert levels.min() >= 0
        assert levels.max() <= 9
    assert len(set(levels)) > 5, "who is past the hardest row goes anywhere, not back to it"
    np.testing.assert_array_equal(terrain.env_origins, terrain.terrain_origins[levels, terrain.terrain_types])


@given(seed=st.integers(0, 2**32 - 1))
def test_the_same_seed_makes_the_same_ground(seed: int) -> None:
    cfg = TerrainGeneratorCfg(size=(3, 3), num_rows=2, num_cols=2, sub_terrains={"rough": RoughTerrainCfg()})
    one, two = (generate(cfg, np.random.default_rng(seed)) for _ in range(2))
    for a, b in zip(one.patches, two.patches, strict=True):
        assert a.patch.heights is not None
        np.testing.assert_array_equal(a.patch.heights, b.patch.heights)


def test_rough_terrain_compiles_and_environments_stand_on_their_patches() -> None:
    terrain = TerrainEntityCfg(
        terrain_type="generator", terrain_generator=ROUGH_TERRAINS_CFG, max_init_terrain_level=5
    )
    entities = {
        "cube": EntityCfg(spec_fn=cube),
        "arm": EntityCfg(spec_fn=arm),
        "hand": EntityCfg(spec_fn=hand, init_state=InitialStateCfg(pos=(0, 0, 2))),
    }
    scene = Scene(SceneCfg(num_envs=12, terrain=terrain, entities=entities)).initialize()
    at = scene.entities["cube"].data.root_link_pos_w
    np.testing.assert_allclose(at - scene.env_origins, np.tile([0, 0, 0.05], (12, 1)), atol=ENDS)
    base = scene.entities["arm"].data.root_link_pos_w
    np.testing.assert_allclose(base - scene.env_origins, np.tile([0, 0, 0.1], (12, 1)), atol=ENDS)
    mocap = scene.entities["hand"].data.root_link_pos_w
    np.testing.assert_allclose(mocap - scene.env_origins, np.tile([0, 0, 2], (12, 1)), atol=ENDS)
    for _ in range(50):
        assert not scene.step().size
    assert np.all(scene.entities["cube"].data.root_link_pos_w[:, 2] > scene.env_origins[:, 2] - 0.3)
    scene.terrain.update_env_origins([3], [True], [False])
    scene.reset([3])
    np.testing.assert_allclose(
        scene.entities["arm"].data.root_link_pos_w[3], scene.env_origins[3] + [0, 0, 0.1], atol=ENDS
    )


def test_wrong_terrain_is_refused() -> None:
    with pytest.raises(SceneError, match="give a TerrainGeneratorCfg, such as ROUGH_TERRAINS_CFG"):
        TerrainEntityCfg(terrain_type="generator")
    with pytest.raises(SceneError, match="expected at least one of sub_terrains"):
        generate(TerrainGeneratorCfg(size=SIZE, sub_terrains={}), np.random.default_rng(0))
    flat = {"flat": FlatTerrainCfg(proportion=0.0)}
    with pytest.raises(SceneError, match=r"expected proportions not below 0, one above, got \[0.0\]"):
        generate(TerrainGeneratorCfg(size=SIZE, sub_terrains=flat), np.random.default_rng(0))
    with pytest.raises(SceneError, match="expected at least one row and column, got 0 x 1"):
        generate(TerrainGeneratorCfg(size=SIZE, sub_terrains=flat, num_rows=0), np.random.default_rng(0))
    level = TerrainEntityCfg(
        terrain_type="generator", terrain_generator=ROUGH_TERRAINS_CFG, max_init_terrain_level=-1
    )
    with pytest.raises(SceneError, match="expected max_init_terrain_level not below 0, got -1"):
        Terrain(level, 1, 1.0, np.random.default_rng(0))
