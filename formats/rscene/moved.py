"""Saving a world that was read a moment ago: nothing to do when nothing moved, little to do when little did.

What is remembered is a document and the state of the world it stands for. Anything but poses that changed, and any
pose that its record alone cannot hold, is left to the careful way.
"""

from weakref import WeakKeyDictionary

import numpy as np

from diorama.ecs import World
from diorama.formats.rscene import derive
from diorama.formats.rscene.build import SKELETON
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.extras import KEY


class _Remembered:
    """A document and the state of the world it stands for."""

    def __init__(self, world: World, document: Document) -> None:
        self.document = document
        self.epoch = world.epoch
        self.local = world.table.local[: world.table.high].copy()


_remembered: WeakKeyDictionary[World, _Remembered] = WeakKeyDictionary()


def remember(world: World, document: Document) -> None:
    """Note that a world and a document say the same."""
    _remembered[world] = _Remembered(world, document)


def document_of_moved(world: World) -> Document | None:
    """The document of a world in which at most poses changed since it was remembered; None for any other."""
    known = _remembered.get(world)
    if known is None or known.epoch != world.epoch:
        return None
    high = world.table.high
    if world.velocities.present[:high].any():
        return None
    local = np.ascontiguousarray(world.table.local[:high])
    rows = np.flatnonzero((local.view(np.uint64) != known.local.view(np.uint64)).any(axis=1))
    if not len(rows):
        return known.document
    if known.document.last("prefab_override") is not None:
        return None
    places = _places(world)
    lines = list(known.document.lines)
    for row in rows.tolist():
        line = lines[places[row]] if row in places else None
        if not isinstance(line, Record) or line.extra(KEY) is not None:
            return None
        pose = local[row].tolist()
        record = Record(line.raw, line.line)
        try:
            derive.store_pose(record, pose, derive.pose_of(record))
        except ValueError:
            return None
        if derive.bits(derive.pose_of(record)) != derive.bits(pose):
            return None
        lines[places[row]] = record
    return Document(lines, marked=known.document.marked)


def _places(world: World) -> dict[int, int]:
    """The line of each entity that has one, by row."""
    keys = {
        item["entity"]: place
        for place, item in enumerate(world.resource(SKELETON)["lines"])
        if isinstance(item, dict) and "entity" in item
    }
    found = {}
    for key, place in keys.items():
        entity = world.find_key(key)
        if entity is not None:
            found[world.row(entity)] = place
    return found
