"""The documentation says what is there."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def test_the_architecture_page_has_a_row_for_every_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert page == runpy.run_path(str(ROOT / "docs" / "modules.py"))["updated"](page), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        assert target.startswith(("https://", "http://")) or (page.parent / target).exists(), target
