"""Cold components: esper holds them, one esper world for each of ours. The only home of esper.

esper keeps its active world in module globals, so every call switches first, under a lock: worlds that live in
different threads must not meet there.
"""

from collections import deque
from collections.abc import Iterable
from itertools import count
from threading import RLock
from typing import Any, TypeVar
from weakref import finalize

import esper

T = TypeVar("T")
_lock = RLock()
_numbers = count(1)
# Contexts of worlds that are gone. A finaliser may run in the middle of any call here, so it only leaves a note.
_abandoned: deque[str] = deque()


class Store:
    """The cold components of one world, by entity. An entity is in esper only once it has a cold component."""

    def __init__(self) -> None:
        self.context = f"diorama-{next(_numbers)}"
        self._id_of: dict[int, int] = {}
        self._entity_of: dict[int, int] = {}
        _delete_abandoned()
        finalize(self, _abandoned.append, self.context)

    def add(self, entity: int, values: Iterable[object]) -> None:
        """Set components, each replacing the one of its type."""
        with _lock:
            esper.switch_world(self.context)
            known = self._id_of.get(entity)
            if known is None:
                self._id_of[entity] = known = esper.create_entity(*values)
                self._entity_of[known] = entity
            else:
                for value in values:
                    esper.add_component(known, value)

    def try_get(self, entity: int, cls: type[T]) -> T | None:
        """The component of that type, or None."""
        known = self._id_of.get(entity)
        if known is None:
            return None
        with _lock:
            esper.switch_world(self.context)
            found: T | None = esper.try_component(known, cls)
            return found

    def all_of(self, entity: int) -> tuple[Any, ...]:
        """Every cold component of an entity."""
        known = self._id_of.get(entity)
        if known is None:
            return ()
        with _lock:
            esper.switch_world(self.context)
            return tuple(esper.components_for_entity(known))

    def remove(self, entity: int, cls: type) -> None:
        """Take a component away; KeyError when it is not there."""
        with _lock:
            esper.switch_world(self.context)
            esper.remove_component(self._id_of[entity], cls)

    def discard(self, entity: int) -> None:
        """Forget an entity and all it carries."""
        known = self._id_of.pop(entity, None)
        if known is None:
            return
        del self._entity_of[known]
        with _lock:
            esper.switch_world(self.context)
            esper.delete_entity(known, immediate=True)

    def query(self, *types: type) -> list[tuple[int, list[Any]]]:
        """Every (entity, [components]) that has all the types, by ascending entity."""
        with _lock:
            esper.switch_world(self.context)
            pairs: list[tuple[int, Any]] = esper.get_components(*types)
            found = [(self._entity_of[known], list(values)) for known, values in pairs]
        return sorted(found, key=lambda pair: pair[0])


def _delete_abandoned() -> None:
    with _lock:
        while _abandoned:
            context = _abandoned.popleft()
            if context in esper.list_worlds():
                esper.switch_world("default")
                esper.delete_world(context)
