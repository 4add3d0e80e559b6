"""What the tests of `.rscene` and its world share: scenes, saving and reading again, comparing what came back."""

from pathlib import Path

from diorama.ecs import World, difference
from diorama.formats import rscene
from diorama.formats.rscene import RsceneRecord

SCENES = Path(__file__).parent.parent / "scenes"
WORKSHOP = (SCENES / "workshop.rscene").read_bytes()
HEAD = b"raisim_engine_scene 2\n"


def box(path: str, *extra: str, position: str = "0 0 0", rotation: str = "1 0 0 0") -> bytes:
    shape = "1 1 1 0.5 1 1 default engine_default false true false - dynamic true 1 1"
    return " ".join(["object", path, "box", position, rotation, shape, *extra]).encode() + b"\n"


def changed_words(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    """The words that differ; fails when anything but words changed."""
    lines = list(zip(before.split(b"\n"), after.split(b"\n"), strict=True))
    return [
        pair
        for old, new in lines
        if old != new
        for pair in zip(old.split(b" "), new.split(b" "), strict=True)
        if pair[0] != pair[1]
    ]


def same_scene(a: World, b: World) -> str:
    """The difference of two worlds, the records they came from left aside."""
    for world in (a, b):
        for entity in world.entities.tolist():
            if world.has(entity, RsceneRecord):
                world.remove(entity, RsceneRecord)
        world.set_resource("rscene", None)
    return difference(a, b)


def again(world: World) -> World:
    return rscene.read(rscene.write(world))


def forget(world: World) -> World:
    """The world as one that was not read a moment ago: saving has to look at everything."""
    world.set_resource("touched", True)
    world.set_resource("touched", None)
    return world
