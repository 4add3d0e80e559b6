"""USD stages: written only, for usdview and everything else that opens them (extra `usd`)."""

from pathlib import Path

from diorama.ecs import World


def write(world: World, path: str | Path) -> None:
    """Write a world to `.usda` (text), `.usdc` (binary) or `.usd`."""
    # Here, so that the table of formats can name this one where the library is not installed.
    from diorama.formats.usd_stage import write_stage

    write_stage(world, path)
