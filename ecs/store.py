"""Cold components: esper holds them. The only home of esper.

esper keeps its world in module globals, which worlds in different threads would fight over, and which a program that
uses esper itself does not want switched. So each of our worlds has an esper module of its own: a copy costs 15 µs and
12 kB, and goes when the world goes.
"""

from collections.abc import Iterable
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Store:
    """The cold components of one world, by entity. An entity is in esper only once it has a cold component."""

    def __init__(self) -> None:
        self._esper = _own_esper()
        self._create = self._esper.create_entity
        self._id_of: dict[int, int] = {}
        self._entity_of: dict[int, int] | None = None  # the other way round, made when a query needs it

    def add(self, entity: int, values: Iterable[object]) -> None:
        """Set components, each replacing the one of its type."""
        known = self._id_of.get(entity)
        if known is None:
            self.begin(entity, values)
        else:
            for value in values:
                self._esper.add_component(known, value)

    def begin(self, entity: int, values: Iterable[object]) -> None:
        """Set the components of an entity that has none."""
        self._id_of[entity] = self._create(*values)
        self._entity_of = None

    def begin_many(self, entities: list[int], values: Iterable[object]) -> None:
        """Set the same components on many entities that have none."""
        create = self._create
        self._id_of.update(zip(entities, [create(*values) for _ in entities], strict=True))
        self._entity_of = None

    def try_get(self, entity: int, cls: type[T]) -> T | None:
        """The component of that type, or None."""
        known = self._id_of.get(entity)
        return None if known is None else self._esper.try_component(known, cls)

    def all_of(self, entity: int) -> tuple[Any, ...]:
        """Every cold component of an entity."""
        known = self._id_of.get(entity)
        return () if known is None else tuple(self._esper.components_for_entity(known))

    def remove(self, entity: int, cls: type) -> None:
        """Take a component away; KeyError when it is not there."""
        self._esper.remove_component(self._id_of[entity], cls)

    def discard(self, entity: int) -> None:
        """Forget an entity and all it carries."""
        known = self._id_of.pop(entity, None)
        if known is not None:
            self._entity_of = None
            self._esper.delete_entity(known, immediate=True)

    def query(self, *types: type) -> list[tuple[int, tuple[Any, ...]]]:
        """Every (entity, (component, ...)) that has all the types, by ascending entity."""
        entity_of = self._entity_of
        if entity_of is None:
            self._entity_of = entity_of = {known: entity for entity, known in self._id_of.items()}
        found = [(entity_of[known], values) for known, values in self._esper.get_components(*types)]
        return sorted(found, key=lambda pair: pair[0])


def _own_esper() -> Any:
    module = ModuleType("esper", "The cold components of one world.")
    exec(_esper_code(), module.__dict__)  # noqa: S102 (the installed esper, which an import runs as well)
    return module


@cache
def _esper_code() -> CodeType:
    spec = find_spec("esper")
    if spec is None:
        raise ModuleNotFoundError("diorama needs esper; install it with: pip install 'esper>=3.9'")
    code = cast(InspectLoader, spec.loader).get_code("esper")
    assert code is not None
    return code
