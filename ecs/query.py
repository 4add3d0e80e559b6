"""Which entities have all of some components: columns and cold values brought together."""

from typing import Any

from diorama.ecs.components import Transform, Velocity, group_of
from diorama.ecs.store import Store
from diorama.ecs.table import ROW_MASK, Table


def find_all(table: Table, store: Store, types: tuple[type, ...]) -> list[tuple[Any, ...]]:
    """Every (entity, component, ...) that has all the types, by ascending entity."""
    cold = [cls for cls in types if cls not in (Transform, Velocity)]
    if not cold:
        entities = table.living(moving=Velocity in types).tolist()
        return [(entity, *(table.view(entity & ROW_MASK, cls) for cls in types)) for entity in entities]
    for cls in cold:
        group_of(cls)  # nobody can carry what is not registered: a mistake, not an empty answer
    found = store.query(*cold)
    if len(cold) == len(types):
        return [(entity, *values) for entity, values in found]
    answer = []
    for entity, values in found:
        row = entity & ROW_MASK
        if Velocity in types and not table.velocities.present[row]:
            continue
        carried = dict(zip(cold, values, strict=True))
        parts = (carried[cls] if cls in carried else table.view(row, cls) for cls in types)
        answer.append((entity, *parts))
    return answer
