"""A model of bytes, CPU and latency against entities, rates, views, renderers and hosts, fitted to this machine.

    python benchmarks/scaling_model.py            measure, fit, print
    python benchmarks/scaling_model.py --write    and put the tables into docs/scaling.md

Each cost is fitted as a sum of non-negative terms by relative least squares; one point of each series, the largest
or a middle one, is left out of the fit and predicted instead. CPU times of processes count all their threads.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scaling_fit import Cost
from scaling_sending import sending_costs
from scaling_ticks import tick_costs, view_cost

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
BEGIN, END = "<!-- measured: written by benchmarks/scaling_model.py -->", "<!-- end of measured -->"
ENTITY_BYTES = 84  # ten float64 and a row number


@dataclass(frozen=True, slots=True)
class Fleet:
    """A deployment: hosts publish `entities` together, composites share them (and the renderers) between themselves;
    each renderer follows everything, or a view of `inside` entities.
    """

    entities: int
    moving: float
    rate_hz: float
    hosts: int
    composites: int
    renderers: int
    inside: int  # 0: everything


FLEETS = (
    Fleet(10_000, 1.0, 50.0, 1, 1, 1, 0),
    Fleet(10_000, 1.0, 50.0, 1, 1, 10, 0),
    Fleet(100_000, 1.0, 50.0, 1, 1, 10, 0),
    Fleet(100_000, 0.1, 50.0, 10, 1, 10, 0),
    Fleet(100_000, 0.1, 50.0, 10, 1, 100, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 100, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 1000, 0),
    Fleet(1_000_000, 0.1, 10.0, 100, 1, 1000, 1000),
    Fleet(1_000_000, 0.1, 10.0, 100, 4, 1000, 1000),
    Fleet(1_000_000, 1.0, 50.0, 100, 1, 1000, 1000),
    Fleet(1_000_000, 1.0, 50.0, 100, 40, 1000, 1000),
)


def load(fleet: Fleet, cost: Mapping[str, Cost]) -> dict[str, float]:
    """Shares of a core, gigabits a second and seconds, by who has to bear them.

    Resolving is reckoned for every entity, moving or not: what does not move is looked at too.
    """
    rate, hosts = fleet.rate_hz, fleet.hosts / fleet.composites
    entities, renderers = fleet.entities / fleet.composites, fleet.renderers / fleet.composites
    moving, own = entities * fleet.moving, entities / hosts
    source = cost["propagate"](own) + cost["encode"](own * fleet.moving)
    join = cost["propagate"](entities)
    if fleet.hosts > 1:
        join += hosts * (
            cost["apply"](own * fleet.moving) + cost["propagate"](own) + cost["graft"](own * fleet.moving)
        )
    seen = (fleet.inside if fleet.inside else entities) * fleet.moving
    encode = cost["encode"](moving)
    if fleet.inside:
        encode = cost["views"](entities, renderers, renderers * seen)
    size = seen * ENTITY_BYTES
    show = cost["apply"](seen) + cost["propagate"](fleet.inside or entities)
    return {
        "source": rate * source,
        "publisher": rate * (join + encode),
        "sending": rate * cost["zmq"](renderers, renderers * size),
        "gigabits": rate * renderers * size * 8e-9,
        "renderer": rate * show,
        "latency": source + join + encode + cost["latency"](size) + show,
    }


LIMITS = {
    "publisher": (1.0, "the publisher's tick (one thread)"),
    "sending": (1.0, "sending (one I/O thread)"),
    "gigabits": (10.0, "a 10 Gb/s network card"),
    "source": (1.0, "a source's tick"),
    "renderer": (1.0, "a renderer's replica"),
}


def breaks_first(found: Mapping[str, float]) -> str:
    share, what = max((found[name] / limit, words) for name, (limit, words) in LIMITS.items())
    return f"{what}, {share:.1f} times what there is" if share > 1.0 else f"nothing; {what} is at {share:.0%}"


def tables(costs: Mapping[str, Cost]) -> str:
    """The page's tables."""
    lines = [
        "| cost | coefficients | worst error of the fit | error of the point left out |",
        "|---|---|--:|--:|",
    ]
    for cost in costs.values():
        parts = [
            f"{_seconds(value)} {name}"
            for name, value in zip(cost.names, cost.coefficients, strict=True)
            if value > 0
        ]
        lines.append(f"| {cost.what} | {', '.join(parts)} | {cost.fit_error:.0%} | {cost.held_error:+.0%} |")
    heads = ("entities", "moving", "Hz", "hosts", "composites", "renderers", "each sees")
    heads += ("source", "publisher", "sending", "Gb/s", "renderer", "latency", "first to break")
    lines += ["", f"| {' | '.join(heads)} |", "|--:" * (len(heads) - 1) + "|---|"]
    for fleet in FLEETS:
        found = load(fleet, costs)
        cells = (
            f"{fleet.entities:,}",
            f"{fleet.moving:.0%}",
            f"{fleet.rate_hz:.0f}",
            f"{fleet.hosts}",
            f"{fleet.composites}",
            f"{fleet.renderers:,}",
            f"{fleet.inside:,}" if fleet.inside else "all",
            f"{found['source']:.1%}",
            f"{found['publisher']:.0%}",
            f"{found['sending']:.0%}",
            f"{found['gigabits']:.2f}",
            f"{found['renderer']:.1%}",
            f"{found['latency'] * 1e3:.1f} ms",
            breaks_first(found),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(value: float) -> str:
    for unit, factor in (("ms", 1e3), ("µs", 1e6), ("ns", 1e9), ("ps", 1e12)):
        if value * factor >= 1.0 or unit == "ps":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    propagation, encoding, applying, grafting = tick_costs()
    views = view_cost()
    (zmq, zenoh, uplink, router), latency = sending_costs()
    costs = {
        "propagate": propagation,
        "encode": encoding,
        "apply": applying,
        "graft": grafting,
        "views": views,
        "zmq": zmq,
        "zenoh": zenoh,
        "uplink": uplink,
        "router": router,
        "latency": latency,
    }
    text = tables(costs)
    print(text)
    if args.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
