"""Applying messages to a world: how a replica becomes, and stays, equal to what is published.

Entities keep the handles they have at the publisher, so rows on the wire are rows here.
"""

from collections.abc import Sequence

import numpy as np

from diorama.ecs.table import ROW_BITS, UNSEEN
from diorama.ecs.world import World
from diorama.schemas.errors import DioramaError, MessageError
from diorama.transport import codec
from diorama.transport.codec import Columns, Structure


def world_from_complete(columns: Columns) -> World:
    """A new world from a complete scene of local poses."""
    structure = columns.structure
    if structure.row != columns.rows.tolist():
        raise MessageError("complete scene: its rows are not those of its structure")
    world = World(codec.origin_from_structure(structure))
    try:
        _insert(world, structure, range(len(columns.rows)), columns.values)
        for name, value in (structure.resources or {}).items():
            world.set_resource(name, value)
        _set_velocities(world, columns)
    except (DioramaError, ValueError, TypeError, KeyError) as problem:
        raise MessageError(f"complete scene: {problem}") from None
    return world


def apply_update(world: World, columns: Columns) -> None:
    """Bring a world from one update to the next. On MessageError the world is no longer equal to anything."""
    rows, table = columns.rows, world.table
    try:
        _apply_structure(world, columns.structure)
        if len(rows):
            # Usually one block of rows, or a few; then a slice spares looking each of them up.
            chosen = slice(int(rows[0]), int(rows[-1]) + 1) if codec.is_run(rows) else rows
            if rows.max() >= table.high or not table.alive[chosen].all():
                raise MessageError("poses for entities that are not there")
            table.local[chosen] = columns.values
        _set_velocities(world, columns)
    except (DioramaError, ValueError, TypeError, KeyError) as problem:
        raise MessageError(f"update: {problem}") from None


def _apply_structure(world: World, structure: Structure) -> None:
    table = world.table
    handles = [
        row | generation << ROW_BITS
        for row, generation in zip(structure.row, structure.generation, strict=True)
    ]
    known = [index for index, handle in enumerate(handles) if world.alive(handle)]
    # Whoever stays lets go of parent and name first: its parent may be about to go, its name to change hands.
    gone = {row for row, _ in structure.removed}
    for index in known:
        above = int(table.parent[structure.row[index]])
        if above != structure.parent[index] or above in gone:
            world.reparent(handles[index], None)
        if world.name(handles[index]) != structure.name[index]:
            world.rename(handles[index], f"\0{handles[index]}")
    for row, generation in structure.removed:
        if world.alive(row | generation << ROW_BITS):
            world.despawn(row | generation << ROW_BITS)
    stays = set(known)
    _insert(world, structure, [index for index in range(len(handles)) if index not in stays], None)
    for index in known:
        handle = handles[index]
        world.rename(handle, structure.name[index])
        if world.asset(handle) != structure.asset[index]:
            world.set_asset(handle, structure.asset[index])
        _set_groups(world, handle, structure.components.get(str(structure.row[index]), {}))
        table.velocities.present[structure.row[index]] = False
        world.touch(handle)  # whoever follows the replica in turn is told whatever it was
    for index, parent in enumerate(structure.parent):
        if parent >= table.high:
            raise MessageError(f"row {structure.row[index]}: its parent, row {parent}, is not there")
        if int(table.parent[structure.row[index]]) != parent:  # a root is one by now
            world.reparent(handles[index], world.entity_at(parent))
    for name, value in (structure.resources or {}).items():
        world.set_resource(name, value)
    if structure.has_origin is not None:
        world.origin = codec.origin_from_structure(structure)


def _insert(
    world: World,
    structure: Structure,
    chosen: Sequence[int],
    values: "np.ndarray[tuple[int, int], np.dtype[np.float64]] | None",
) -> None:
    """Make the chosen entities of a structure; those whose parent is not among them become roots for now."""
    if not chosen:
        return
    index_of = {structure.row[index]: place for place, index in enumerate(chosen)}
    world.insert(
        [structure.name[index] for index in chosen],
        asset=[structure.asset[index] for index in chosen],
        keys=[structure.key[index] for index in chosen],
        parents=[index_of.get(structure.parent[index], -1) for index in chosen],
        entities=np.array([structure.row[i] | structure.generation[i] << ROW_BITS for i in chosen], np.int64),
        position=None if values is None else values[:, 0:3],
        orientation=None if values is None else values[:, 3:7],
        scale=None if values is None else values[:, 7:10],
    )
    if structure.components:
        for index in chosen:
            groups = structure.components.get(str(structure.row[index]))
            if groups:
                _set_groups(world, structure.row[index] | structure.generation[index] << ROW_BITS, groups)


def _set_groups(world: World, handle: int, groups: dict[str, object]) -> None:
    for group in world.groups(handle).keys() - groups.keys():
        world.remove_group(handle, group)
    for group, value in groups.items():
        world.set_group(handle, group, value)


def _set_velocities(world: World, columns: Columns) -> None:
    table, rows = world.table, columns.moving
    have = columns.structure.moving
    told = np.array([*have, *rows.tolist()], np.int64) if have else rows
    if len(told) == 0:
        return
    if told.max() >= table.high or not table.alive[told].all():
        raise MessageError("velocities for entities that are not there")
    table.velocities.present[told] = True
    table.velocity_seen[told] = UNSEEN
    table.velocities.block[rows] = columns.velocities
