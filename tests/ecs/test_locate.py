"""Coordinates of entities: right after moves, new tenants of a row, another origin; refused without an Earth."""

import numpy as np
import pytest

from diorama.ecs import Coordinates, World, locate, propagate
from diorama.geo import Origin
from diorama.geo.convert import ecef_from_ned, lla_from_ned
from diorama.schemas.errors import GeoError, StateError

HOUSTON = Origin(29.5, -95.1, 10.0)
ZURICH = Origin(47.4, 8.5, 400.0)
METRES = 1e-6
DEGREES = 1e-11  # about a micrometre on the ground


def expect(found: Coordinates, ned: list[list[float]], origin: Origin) -> None:
    np.testing.assert_allclose(found.ned, ned, atol=METRES)
    np.testing.assert_allclose(found.ecef, ecef_from_ned(ned, origin), atol=METRES, rtol=0)
    np.testing.assert_allclose(found.cartesian, ecef_from_ned(ned, origin) - origin.ecef, atol=METRES)
    np.testing.assert_allclose(found.lla[:, :2], lla_from_ned(ned, origin)[:, :2], atol=DEGREES, rtol=0)
    np.testing.assert_allclose(found.lla[:, 2], lla_from_ned(ned, origin)[:, 2], atol=METRES, rtol=0)


def test_a_new_tenant_of_a_row_is_not_where_the_last_one_was() -> None:
    world = World(HOUSTON, capacity=1)
    old = world.spawn("old", position=(1000, 0, 0))
    propagate(world)
    expect(locate(world), [[1000, 0, 0]], HOUSTON)

    world.despawn(old)
    new = world.spawn("new", position=(0, 2000, -50))
    for _ in range(2):  # before it was ever propagated, and after
        expect(locate(world, world.rows([new])), [[0, 2000, -50]], HOUSTON)
        propagate(world)


def test_new_tenants_that_come_in_a_batch_are_not_where_the_last_ones_were() -> None:
    world = World(HOUSTON, capacity=2)
    old = world.insert(2, position=(1000.0, 0.0, 0.0))
    propagate(world)
    locate(world)
    for entity in old.tolist():
        world.despawn(entity)
    world.insert(2, position=(0.0, 2000.0, -50.0))
    expect(locate(world), [[0, 2000, -50]] * 2, HOUSTON)


def test_only_what_moved_is_located_again_and_it_is_right() -> None:
    world = World(HOUSTON)
    parent = world.spawn("parent")
    world.insert(4, under=parent, position=[[k, 0.0, 0.0] for k in range(4)])
    propagate(world)
    locate(world)
    world.transforms.position[world.row(parent), 1] = 7.0
    world.transforms.position[3, 0] = 30.0
    propagate(world)
    expect(locate(world), [[0, 7, 0], [0, 7, 0], [1, 7, 0], [30, 7, 0], [3, 7, 0]], HOUSTON)
    world.table.lla[2] = 99.0  # has not moved, and so stays as it is
    world.transforms.position[[1, 4], 2] = -9.0  # not next to each other
    propagate(world)
    expect(locate(world, [0, 1, 3, 4]), [[0, 7, 0], [0, 7, -9], [30, 7, 0], [3, 7, -9]], HOUSTON)
    assert locate(world, [2]).lla.tolist() == [[99, 99, 99]]


def test_another_origin_moves_everything() -> None:
    world = World(HOUSTON)
    world.spawn("a", position=(1, 2, 3))
    propagate(world)
    locate(world)
    world.origin = ZURICH
    expect(locate(world), [[1, 2, 3]], ZURICH)
    world.origin = None
    with pytest.raises(GeoError, match="no place on Earth"):
        locate(world)
    world.origin = HOUSTON
    expect(locate(world), [[1, 2, 3]], HOUSTON)


@pytest.mark.parametrize("row", [-1, 1, 5, 1 << 40])
def test_rows_that_hold_nobody_are_refused(row: int) -> None:
    world = World(HOUSTON)
    world.despawn(world.insert(2).tolist()[1])
    with pytest.raises(IndexError, match=f"row {row} holds no entity"):
        locate(world, [0, row])


def test_a_mask_is_not_taken_for_rows_and_a_single_row_will_do() -> None:
    world = World(HOUSTON)
    world.insert(3, position=[[k, 0.0, 0.0] for k in range(3)])
    propagate(world)
    with pytest.raises(StateError, match=r"rows: expected whole numbers, got bool; np\.flatnonzero gives"):
        locate(world, [False, True, True])
    expect(locate(world, 2), [[2, 0, 0]], HOUSTON)


def test_an_empty_world_is_nowhere() -> None:
    world = World(HOUSTON)
    propagate(world)
    for found in (locate(world), locate(world, [])):
        assert found.ned.shape == found.ecef.shape == found.lla.shape == found.cartesian.shape == (0, 3)
