"""Who is meant: nodes by id or path, resources by id or name, and the owner of a part."""

from collections.abc import Iterable, Mapping

from diorama.formats.rscene import tokens
from diorama.formats.rscene.document import Record
from diorama.schemas.errors import did_you_mean

REQUIRED_REFERENCES = {
    "wire": ("bodyA", "bodyB"),
    "sensor": ("parentObject",),
    "terrain_region": ("cloneSource",),
    "articulated": ("resourceId",),
}
# The most searches for a similar name in one file: each compares with all names there are.
MOST_HINTS = 20
# The id a node has when none is written, before its path.
DEFAULT_ID = {"group": "folder", "terrain_region": "terrain"}


def path_of(record: Record) -> str:
    """The path of a node, or of the owner of a part."""
    words = record.words
    if record.kind is None or len(words) < 2 or b"=" in words[1]:
        return ""
    try:
        return tokens.text_from_word(words[1])
    except ValueError:
        return ""


def id_of(record: Record) -> str:
    """The id of a node or resource: the one written, or the one a reader gives it."""
    kind = record.kind
    if kind is None:
        return ""
    written = str(record.get("id")) if "id" in kind.fields else ""
    if written or kind.role == "resource":
        return written or path_of(record)
    return f"{DEFAULT_ID.get(kind.tag, kind.tag)}_{path_of(record)}"


class Index:
    """Nodes and resources by every name that records use for them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._nodes: dict[str, Record] = {}
        self._paths: dict[str, Record] = {}
        self._resources: dict[str, Record] = {}
        self._hints: dict[str, str] = {}
        for record in records:
            role = record.kind.role if record.kind else ""
            if role == "node":
                self._nodes.setdefault(id_of(record), record)
                self._paths.setdefault(path_of(record), record)
            elif role == "resource":
                self._resources.setdefault(id_of(record), record)
                self._resources.setdefault(path_of(record), record)

    def node(self, name: str) -> Record | None:
        """The node with this id or, failing that, this path."""
        return self._nodes.get(name) or self._paths.get(name)

    def path(self, path: str) -> Record | None:
        """The node with this path."""
        return self._paths.get(path)

    @property
    def resources(self) -> Mapping[str, Record]:
        """Every resource by id and by name."""
        return self._resources

    def resource(self, name: str) -> Record | None:
        """The resource with this id or name."""
        return self._resources.get(name)

    def hint(self, wrong: str) -> str:
        """`; did you mean 'x'?` of every id, path and name there is, for the first few wrong ones."""
        if wrong not in self._hints and len(self._hints) < MOST_HINTS:
            self._hints[wrong] = did_you_mean(wrong, [*self._nodes, *self._paths, *self._resources])
        return self._hints.get(wrong, "")


def owner_of(record: Record, index: Index) -> Record | None:
    """The node that a part belongs to."""
    return index.node(path_of(record))


def refers(record: Record) -> bool:
    """Whether a record says whom it belongs or is tied to, rightly or not."""
    kind = record.kind
    return kind is not None and (
        kind.role == "part" or any(record.get(name) for name in REQUIRED_REFERENCES.get(kind.tag, ()))
    )


def points_nowhere(record: Record, index: Index) -> list[str]:
    """The fields of a record without which it means nothing and that mean nobody; a part needs its owner."""
    kind = record.kind
    if kind is None:
        return []
    if kind.role == "part":
        owner = owner_of(record, index)
        if owner is None or owner.tag != kind.owner:
            return [next(iter(kind.layouts[kind.longest]))]
    return [
        name
        for name in REQUIRED_REFERENCES.get(kind.tag, ())
        if (wanted := record.get(name)) and index.resource(wanted) is None and index.node(wanted) is None
    ]


def parent_of(record: Record, index: Index) -> Record | None:
    """The node that a node hangs under by name: a sensor under its body, anything else under its parent."""
    kind = record.kind
    if kind is None or kind.role != "node":
        return None
    if record.tag == "sensor" and (body := index.node(record.get("parentObject"))) is not None:
        return body
    name = "parentId" if record.tag == "group" else "parentGroupId"
    wanted = record.get(name) if name in kind.fields else ""
    return index.node(wanted) if wanted else None
