"""Cold components: esper holds them. The only home of esper.

esper keeps its world in module globals, which worlds in different threads would fight over, and which a program that
uses esper itself does not want switched. So each of our worlds has an esper module of its own: a copy costs 15 µs and
12 kB, and goes when the world goes.

In that copy an entity goes by our handle, not by a number that esper counts up, so nothing has to be translated; this
is why entities are written into esper's tables here, where `create_entity` would count.
"""

from collections.abc import Iterable
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec
from itertools import repeat
from operator import itemgetter
from types import CodeType, ModuleType
from typing import Any, TypeVar, cast

T = TypeVar("T")
Carried = dict[type, Any]


class Store:
    """The cold components of one world, by entity. An entity is in esper only once it has a cold component."""

    def __init__(self) -> None:
        self._esper = _own_esper()
        # By entity, then by type. Entities that came together share what they carry, so it is replaced, not changed.
        self._carried: dict[int, Carried] = self._esper._entities
        # Who has a type, for types that somebody has asked for: most never are.
        self._holders: dict[type, set[int]] = self._esper._components

    def add(self, entity: int, values: Carried) -> None:
        """Set components, each replacing the one of its type."""
        self.begin(entity, {**self._carried.get(entity, {}), **values})

    def begin(self, entity: int, values: Carried) -> None:
        """Set the components of an entity that has none; the dictionary is the store's from now on."""
        self._carried[entity] = values
        holders = self._holders
        if holders:
            for cls in values:
                if cls in holders:
                    holders[cls].add(entity)
            self._esper.clear_cache()

    def begin_many(self, entities: list[int], values: Carried) -> None:
        """Set the same components on many entities that have none."""
        self._carried.update(zip(entities, repeat(values)))
        for cls in values.keys() & self._holders.keys():
            self._holders[cls].update(entities)
        self._esper.clear_cache()

    def try_get(self, entity: int, cls: type[T]) -> T | None:
        """The component of that type, or None."""
        carried = self._carried.get(entity)
        return None if carried is None else carried.get(cls)

    def all_of(self, entity: int) -> Iterable[Any]:
        """Every cold component of an entity."""
        return self._carried.get(entity, {}).values()

    def remove(self, entity: int, cls: type) -> None:
        """Take a component away; KeyError when it is not there."""
        left = self._carried[entity].copy()
        del left[cls]
        self._carried[entity] = left
        if cls in self._holders:
            self._holders[cls].remove(entity)
        self._esper.clear_cache()

    def discard(self, entity: int) -> None:
        """Forget an entity and all it carries."""
        carried = self._carried.pop(entity, None)
        holders = self._holders
        if carried is not None and holders:
            for cls in carried:
                if cls in holders:
                    holders[cls].remove(entity)
            self._esper.clear_cache()

    def query(self, *types: type) -> list[tuple[int, tuple[Any, ...]]]:
        """Every (entity, (component, ...)) that has all the types, by ascending entity."""
        for cls in types:
            if cls not in self._holders:
                self._holders[cls] = {entity for entity, carried in self._carried.items() if cls in carried}
        found: list[tuple[int, tuple[Any, ...]]] = self._esper.get_components(*types)
        return sorted(found, key=itemgetter(0))


class _Esper(ModuleType):
    """A copy of esper."""

    def __del__(self) -> None:
        # Functions hold the globals that hold them: a world that goes would wait for the garbage collector.
        self.__dict__.clear()


def _own_esper() -> Any:
    module = _Esper("esper", "The cold components of one world.")
    exec(_esper_code(), module.__dict__)  # noqa: S102 (the installed esper, which an import runs as well)
    return module


@cache
def _esper_code() -> CodeType:
    spec = find_spec("esper")
    if spec is None:
        raise ModuleNotFoundError("diorama needs esper; install it with: pip install 'esper>=3.9,<4'")
    code = cast(InspectLoader, spec.loader).get_code("esper")
    assert code is not None
    return code
