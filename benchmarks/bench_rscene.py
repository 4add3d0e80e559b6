"""A 16 MB `.rscene`: reading it against reading and splitting its bytes, saving it against writing them.

The scene is a forest: 161 x 161 heights on one line of half a million characters, 100 000 instances in 16 batches,
1 800 objects with every key written out. Reading checks every number of it.
"""

import tempfile
from pathlib import Path

import numpy as np
from measure import measure, table

from diorama.ecs import Transform
from diorama.formats import rscene
from diorama.formats.rscene.numbers import text_from_floats
from diorama.formats.rscene.resources import blank_record
from diorama.formats.rscene.table import kinds
from diorama.formats.rscene.values import default, encode

SIDE, BATCHES, INSTANCES, OBJECTS = 161, 16, 100_000, 1_800


def forest() -> bytes:
    rng = np.random.default_rng(1)
    lines = [b"raisim_engine_scene 1", b"time_step 0.0025", b"gravity 0 0 -9.81", b"asset_root ."]
    heights = text_from_floats(rng.normal(size=SIDE * SIDE))
    lines.append(
        b"terrain_region /World/Terrain/Hill %d %d 80 80 0 0 0 id=hill heights=" % (SIDE, SIDE) + heights
    )
    kind = kinds()["object"]
    keys = b" ".join(
        field.key + b"=" + encode(field, default(field)) for field in kind.keys.values() if field.name != "id"
    )
    for number in range(OBJECTS):
        record = blank_record(kind)
        record["path"] = f"/World/Trees/pine_{number}"
        record["primitive"] = "cylinder"
        record["position"] = rng.normal(size=3) * 40
        record["rotation"] = turned(rng.uniform(0, 6))
        lines.append(record.raw + b" id=tree_%d " % number + keys)
    each = INSTANCES // BATCHES
    for batch in range(BATCHES):
        rows = np.column_stack(
            (
                rng.normal(size=(each, 3)) * 40,
                [turned(angle) for angle in rng.uniform(0, 6, each)],
                np.ones((each, 3)),
            )
        )
        rows[:, 7:] = rng.uniform(0.8, 1.2, each).round(4)[:, None]
        record = rscene.Record(b"instanced_visual /World/Grass/batch_%d mesh id=grass_%d" % (batch, batch))
        record["instances"] = rows
        lines.append(record.raw)
    return b"\n".join([*lines, b""])


def turned(angle: float) -> tuple[float, float, float, float]:
    return (float(np.cos(angle / 2)), 0.0, 0.0, float(np.sin(angle / 2)))


def main() -> None:
    data = forest()
    with tempfile.TemporaryDirectory() as name:
        path, copy = Path(name) / "forest.rscene", Path(name) / "copy.rscene"
        path.write_bytes(data)
        world = rscene.read(path)
        longest = max(len(line) for line in data.split(b"\n"))
        print(
            f"{len(data) / 1e6:.1f} MB, {data.count(10)} lines, the longest {longest} characters, {len(world)} entities"
        )
        timings = measure(
            {
                "read and split its bytes": lambda: [line.split() for line in path.read_bytes().split(b"\n")],
                "parse to a document": lambda: rscene.parse(path.read_bytes()),
                "parse and check every number": lambda: rscene.validate(rscene.parse(path.read_bytes())),
                "read to a world, strictly": lambda: rscene.read(path),
            },
            seconds=6,
        )
        print(table("reading (goal < x10)", timings))
        moved = rscene.read(path)
        moved.get(moved.find("/World/Trees/pine_7"), Transform).position[0] += 1
        renamed = rscene.read(path)
        renamed.rename(renamed.find("/World/Trees/pine_7"), "/World/Trees/oak")
        timings = measure(
            {
                "write the bytes": lambda: rscene.files.replace_file(copy, data),
                "save the untouched world": lambda: rscene.write(world, copy),
                "save with one object moved": lambda: rscene.write(moved, copy),
                "save with one object renamed": lambda: rscene.write(renamed, copy),
            },
            seconds=4,
        )
        assert rscene.write(world) == data
        print(table("saving (goal x1 but for the last)", timings))


if __name__ == "__main__":
    main()
