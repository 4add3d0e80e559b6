"""Loading Project AirSim scenes: 1 000 robots of 12 links and 6 sensors each."""

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from diorama.ecs import propagate
from diorama.formats.airsim import read

ROBOTS, LINKS = 1_000, 12
SENSORS = ("camera", "imu", "gps", "barometer", "magnetometer", "lidar")


def robot() -> dict[str, Any]:
    links: list[dict[str, Any]] = [
        {"name": "Frame", "inertial": {"mass": 1.0}, "visual": mesh("/Drone/Body")}
    ]
    links += [
        {
            "name": f"Part{n}",
            "inertial": {"mass": 0.05, "origin": {"xyz": f"0.{n} 0 -0.01", "rpy-deg": f"0 0 {n}"}},
            "visual": {**mesh("/Drone/Part"), "origin": {"xyz": f"0.{n} 0 -0.01", "rpy-deg": f"0 0 {n}"}},
        }
        for n in range(1, LINKS)
    ]
    joints = [
        {"id": f"J{n}", "type": "fixed", "parent-link": "Frame", "child-link": f"Part{n}", "axis": "0 0 1"}
        for n in range(1, LINKS)
    ]
    sensors = [{"id": f"S{kind}", "type": kind, "parent-link": "Frame", "enabled": True} for kind in SENSORS]
    return {"physics-type": "non-physics", "links": links, "joints": joints, "sensors": sensors}


def mesh(name: str) -> dict[str, Any]:
    return {"geometry": {"type": "unreal_mesh", "name": name}}


def scene(config: Any) -> dict[str, Any]:
    return {
        "id": "Many",
        "actors": [
            {
                "type": "robot",
                "name": f"Drone{n}",
                "origin": {"xyz": f"{n} 0 -4", "rpy-deg": "0 0 90"},
                "robot-config": config(n),
            }
            for n in range(ROBOTS)
        ],
        "segmentation": {"initialize-ids": True, "ignore-existing": False, "use-owner-name": True},
    }


def main() -> None:
    print(
        f"loading {ROBOTS} robots of {LINKS} links, {LINKS - 1} joints and {len(SENSORS)} sensors (goal < 1.5 s)"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "robot.jsonc").write_text(json.dumps(robot()))
        for n in range(ROBOTS):
            (folder / f"robot_{n}.jsonc").write_text(json.dumps(robot(), indent=2) + "// end")
        cases = {
            "one robot file for all": scene(lambda _: "robot.jsonc"),
            "a robot file for each": scene(lambda n: f"robot_{n}.jsonc"),
            "every robot in the scene file": scene(lambda _: robot()),
        }
        for title, value in cases.items():
            path = folder / "scene.jsonc"
            path.write_text(json.dumps(value))
            best, count = 1e9, 0
            for _ in range(3):
                begin = perf_counter()
                world = read(path)
                propagate(world)
                best, count = min(best, perf_counter() - begin), len(world)
                del world
            print(
                f"  {title:<34}{best:7.3f} s   {count} entities   {path.stat().st_size / 1e6:.1f} MB scene file"
            )


if __name__ == "__main__":
    main()
