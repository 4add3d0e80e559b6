"""The scene as JSON: the whole document against `orjson.dumps` of a ready-made dict, and changes when 1 % move."""

import numpy as np
import orjson
from bench_columns import tree
from measure import measure, table

from diorama.ecs import propagate
from diorama.formats.aerosim_write import document
from diorama.geo import Origin
from diorama.transport.codec import COMPLETE, UPDATE, Header, Since
from diorama.transport.scene_json import changes_document, complete_document
from diorama.transport.scene_text import SceneText


def main() -> None:
    header = Header(COMPLETE, bytes(16), 1)
    for count in (1_000, 10_000, 100_000):
        world = tree(count)
        world.origin = Origin(29.594656, -95.16384722, -28.3)
        random = np.random.default_rng(1)
        rows = world.forest.order()
        world.transforms.position[rows] = random.normal(scale=1e3, size=(count, 3))
        propagate(world)
        ready = document(world)
        text = SceneText()
        assert text.complete(world) == orjson.dumps(ready)
        since = Since(world.version, world.epoch)
        world.transforms.position[rows[-max(1, count // 100) :], 0] += 1.0  # leaves: 1 % and nobody below
        propagate(world)
        timings = measure(
            {
                "orjson.dumps of a ready-made dict": lambda ready=ready: orjson.dumps(ready),
                "complete, spliced": lambda text=text, world=world: complete_document(text, world, header),
                "changes, 1 % moving": lambda world=world, since=since: changes_document(
                    world, Header(UPDATE, bytes(16), 2), since
                ),
            },
            seconds=4.0,
        )
        print(table(f"{count} entities", timings, count))


if __name__ == "__main__":
    main()
