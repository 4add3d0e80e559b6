"""Every speed claim in one table: work, ours, a peer, the limit, and how far from each; also as JSON.

    python benchmarks/run.py            all of it, some ten minutes
    python benchmarks/run.py --quick    fewer and shorter rounds, under three minutes
    python benchmarks/run.py --write    and put the table into README.md
    python benchmarks/run.py tree json  only these; the others stay as they were

Each script runs in a process of its own, so that one does not find another's memory. Within it, ours and the others'
take turns, round after round; the best round counts, and the spread says how much slower the median was.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from measure import Row

HERE = Path(__file__).parent
SCRIPTS = ("tree", "locate", "json", "columns", "load", "spawn", "fanout", "scaling", "churn", "start")
BEGIN, END = "<!-- table: begin (made by run.py) -->", "<!-- table: end -->"
HEAD = ("work", "ours", "peer", "", "ratio", "limit", "", "to the limit", "spread", "goal", "")
# How far above a goal a ratio still counts as met: the table is rounded, too.
ROUNDING = 1.005


def rows_of(script: str, quick: bool) -> list[Row]:
    """What a script measures, in a process of its own."""
    arguments = [sys.executable, __file__, "--child", script, *(["--quick"] if quick else [])]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return [Row(work=f"bench_{script}.py failed", ours=None)]
    return [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def verdict(row: Row) -> str:
    """Whether the goal is met: "at most 0.5" is a ratio to the peer (or the limit), with a unit it is ours."""
    if not row.goal or row.ours is None:
        return ""
    number, *unit = row.goal.removeprefix("at most ").split(" ", 1)
    limit = float(number)
    if unit == ["to the limit"]:
        value = row.limit_ratio
    elif unit:
        value = row.ours / {"s": 1.0, "ms": 1e-3}[unit[0]]
    else:
        value = row.ours if row.unit != "s" else row.ratio
    return "" if value is None else "yes" if value <= limit * ROUNDING else "no"


def cells(row: Row) -> list[str]:
    """A line of the table."""
    peer = "" if not row.peer else _quantity(row.peer_s, row.unit) or "not installed"
    return [
        row.work,
        _quantity(row.ours, row.unit) or "not installed",
        row.peer,
        peer,
        _ratio(row.ratio),
        row.limit,
        _quantity(row.limit_s, row.unit),
        _ratio(row.limit_ratio),
        f"{row.spread:.2f}" if row.spread != 1.0 else "",
        row.goal,
        verdict(row),
    ]


def markdown(rows: Iterable[Row]) -> str:
    """The table for README.md."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|--:|---|--:|--:|---|--:|--:|--:|---|---|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines)


def plain(rows: Iterable[Row]) -> str:
    """The table for a terminal."""
    lines = [list(HEAD), *[cells(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    left = (0, 2, 5, 9, 10)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def machine() -> str:
    """What it was measured on, in general terms."""
    name = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":")[1] for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = " ".join(models[0].split()[:2]) if models else name
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {import_module(name).__version__}" for name in ("numpy", "orjson", "zmq"))
    return f"{os.cpu_count()} cores ({name}), {platform.system()}, Python {platform.python_version()}, {versions}{load}"


def _quantity(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit != "s":
        return f"{value:,.0f} {unit}" if unit else f"{value:.2f}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value * 1e9:.3g} ns"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "scripts", nargs="*", choices=[[], *SCRIPTS], metavar="SCRIPT", help=", ".join(SCRIPTS)
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.add_argument("--output", type=Path, default=HERE / "results.json", help="where the JSON goes")
    parser.add_argument("--child", choices=SCRIPTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        found = import_module(f"bench_{args.child}").rows(args.quick)
        print(json.dumps([asdict(row) for row in found]))
        return
    before = machine()
    rows: list[Row] = []
    for script in args.scripts or SCRIPTS:
        print(f"bench_{script}.py ...", file=sys.stderr, flush=True)
        rows += rows_of(script, args.quick)
    print(plain(rows))
    print(before)
    results = [
        asdict(row) | {"ratio": row.ratio, "limit_ratio": row.limit_ratio, "met": verdict(row)}
        for row in rows
    ]
    args.output.write_text(json.dumps({"machine": before, "rows": results}, indent=1) + "\n")
    if args.write:
        readme = HERE / "README.md"
        start, _, rest = readme.read_text().partition(BEGIN)
        _, _, end = rest.partition(END)
        readme.write_text(f"{start}{BEGIN}\n\n{before}.\n\n{markdown(rows)}\n\n{END}{end}")


if __name__ == "__main__":
    main()
