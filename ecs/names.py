"""What entities are called: a unique name, a unique key (the id in documents), and the asset that shows them."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import check
from diorama.schemas.errors import StateError, did_you_mean

# Looking for a similar name is slow: beyond this many names a miss comes without a hint.
HINTED_NAMES = 5_000


class Names:
    """Names, keys and assets by row, and entities by name and by key."""

    __slots__ = ("assets", "by_key", "by_name", "keys", "names", "next_key")

    def __init__(self) -> None:
        self.by_name: dict[str, int] = {}
        self.by_key: dict[str, int] = {}
        self.names: list[str] = []
        self.keys: list[str] = []
        self.assets: list[str] = []
        self.next_key = 0  # every `entity_<n>` from here on has never been handed out

    def find(self, name: str) -> int:
        """The entity of that name."""
        try:
            return self.by_name[name]
        except KeyError:
            hint = did_you_mean(name, self.by_name) if len(self.by_name) <= HINTED_NAMES else ""
            raise StateError(f"no entity is named {name!r}{hint}") from None

    def fresh_key(self) -> tuple[str, int]:
        """An unused key `entity_<n>`, and the `next_key` to set once it is used."""
        number = self.next_key
        while (key := f"entity_{number}") in self.by_key or key in self.by_name:
            number += 1
        return key, number + 1

    def fresh_keys(self, count: int, avoid: Collection[str] = ()) -> tuple[list[str], int]:
        """`count` unused keys `entity_<n>`, and the `next_key` to set once they are used."""
        number = self.next_key
        keys = [f"entity_{n}" for n in range(number, number + count)]
        if not avoid and self.by_key.keys().isdisjoint(keys) and self.by_name.keys().isdisjoint(keys):
            return keys, number + count
        keys = []
        while len(keys) < count:
            key = f"entity_{number}"
            number += 1
            if key not in self.by_key and key not in self.by_name and key not in avoid:
                keys.append(key)
        return keys, number

    def refuse_taken(self, name: str, key: str) -> None:
        """Raise unless both are free."""
        if name in self.by_name:
            raise StateError(f"entity {name!r}: the name is taken; names are unique in a world")
        if key in self.by_key:
            raise StateError(f"entity {name!r}: the key {key!r} is taken; keys are unique in a world")

    def refuse_taken_many(self, kind: Literal["name", "key"], new: Sequence[str]) -> None:
        """Raise unless all these names or keys are free and none comes twice."""
        known = self.by_name if kind == "name" else self.by_key
        unique = dict.fromkeys(new)  # half the size of a set
        if len(unique) < len(new) or not known.keys().isdisjoint(unique.keys()):
            taken = known.keys() & unique
            wrong = min(taken) if taken else Counter(new).most_common(1)[0][0]
            raise StateError(f"entity {wrong!r}: the {kind} is taken; {kind}s are unique in a world")
        if "" in unique:
            raise StateError(f"{kind}s: expected one for each entity, got an empty one")

    def choose_many(
        self, given: Sequence[str], keys: Sequence[str] | None
    ) -> tuple[Sequence[str], Sequence[str], int]:
        """Free names (the key where none is given) and keys, and the `next_key` to set once they are used."""
        named = all(given)
        next_key = self.next_key
        if keys is None:
            # A key that serves as a name must not be another's name.
            keys, next_key = self.fresh_keys(len(given), () if named else set(given) - {""})
        else:
            check.length("keys", keys, len(given))
            self.refuse_taken_many("key", keys)
        called = given if named else [name or key for name, key in zip(given, keys, strict=True)]
        self.refuse_taken_many("name", called)
        return called, keys, next_key

    def add(self, entity: int, row: int, name: str, key: str, asset: str) -> None:
        """Call an entity so."""
        if row < len(self.names):
            self.names[row], self.keys[row], self.assets[row] = name, key, asset
        else:  # rows are handed out one after the other
            self.names.append(name)
            self.keys.append(key)
            self.assets.append(asset)
        self.by_name[name] = self.by_key[key] = entity

    def add_many(
        self,
        entities: NDArray[np.int64],
        rows: NDArray[np.int64],
        names: Sequence[str],
        keys: Sequence[str],
        assets: Sequence[str],
    ) -> None:
        """Call many entities so."""
        if len(rows) == 0:
            return
        first, last = int(rows[0]), int(rows[-1])
        block = last - first + 1 == len(rows) and bool((np.diff(rows) == 1).all())
        missing = int(rows.max()) + 1 - len(self.names)
        for column, new in ((self.names, names), (self.keys, keys), (self.assets, assets)):
            column.extend([""] * missing)
            if block:
                column[first : last + 1] = new
            else:
                for row, item in zip(rows.tolist(), new, strict=True):
                    column[row] = item
        handles = entities.tolist()
        self.by_name.update(zip(names, handles, strict=True))
        self.by_key.update(zip(keys, handles, strict=True))

    def rename(self, row: int, name: str) -> None:
        """Give the entity of a row another unique name."""
        entity = self.by_name.pop(self.names[row])
        self.names[row] = name
        self.by_name[name] = entity

    def drop(self, row: int) -> str:
        """Forget the entity of a row; returns its key."""
        key = self.keys[row]
        del self.by_name[self.names[row]], self.by_key[key]
        return key
