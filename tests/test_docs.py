"""The documentation says what is there."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from diorama.runtime.load import FORMATS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def test_the_architecture_page_has_a_row_for_every_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert page == runpy.run_path(str(ROOT / "docs" / "modules.py"))["updated"](page), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        assert target.startswith(("https://", "http://")) or (page.parent / target).exists(), target


def test_every_format_has_a_page_that_the_site_lists() -> None:
    pages = {
        "scene": "aerosim",
        "raisim": "rscene",
    }  # a RaiSim world is only recognised, by the reader of .rscene
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for name in [*(known.name for known in FORMATS), "mcap"]:
        page = f"formats/{pages.get(name, name)}.md"
        assert (ROOT / "docs" / page).exists()
        assert page in nav


def test_the_decisions_are_numbered_without_gaps() -> None:
    decisions = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    assert [int(path.name[:4]) for path in decisions] == list(range(1, len(decisions) + 1))
    for number, path in enumerate(decisions, start=1):
        assert path.read_text("utf-8").startswith(f"# {number}. ")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    # Not --quiet: it keeps warnings from --strict as well, and then nothing can fail.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    api = (tmp_path / "site" / "api" / "index.html").read_text("utf-8")
    assert "diorama.ecs.world.World.spawn" in api
    decisions = (tmp_path / "site" / "adr" / "index.html").read_text("utf-8")
    for path in (ROOT / "docs" / "adr").glob("0*.md"):
        assert f'href="{path.stem}/"' in decisions
    # It works offline: no page loads anything from elsewhere.
    for page in (tmp_path / "site").rglob("*.html"):
        assert not re.search(r'(?:src|rel="stylesheet" href)="https?://', page.read_text("utf-8")), page.name
