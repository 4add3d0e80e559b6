"""Write the tables of architecture.md from the modules' first sentences, and the list of decisions: `make docs`."""

import ast
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
ROOMS = ("schemas", "geo", "ecs", "formats", "perception", "physics", "transport", "runtime", "viewer", "cli")
BEGIN, END = "<!-- modules: written by docs/modules.py -->", "<!-- end of modules -->"


def tables() -> str:
    """One table to a room, one row to a module."""
    parts = []
    for room in ROOMS:
        rows = [f"| `{path.relative_to(ROOT / room)}` | {first_sentence(path)} |" for path in modules(room)]
        heading = first_sentence(ROOT / room / "__init__.py")
        parts.append("\n".join([f"### {room}/", "", heading, "", "| module | |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def modules(room: str) -> list[Path]:
    """The modules of a room; a package within it stands for itself by its `__init__.py`."""
    found = sorted((ROOT / room).rglob("*.py"))
    return [path for path in found if path != ROOT / room / "__init__.py"]


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring."""
    paragraph = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.:]) (?=[A-Z])", " ".join(paragraph.split()))[0]
    return sentence.rstrip(":").replace("|", "\\|")


def updated(page: str) -> str:
    """The page with its tables as they should be."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.split(END)[1]}"


def on_startup(**_: Any) -> None:
    """For mkdocs: the package as links to its rooms; the root itself also holds `.venv`, which must not be searched."""
    package = ROOT / "build" / "api" / "diorama"
    package.mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", *ROOMS):
        if not (package / name).exists():
            (package / name).symlink_to(ROOT / name)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """For mkdocs: the list of decisions on their page, so that a new one is listed by being there."""
    if page.file.src_uri != "adr/index.md":
        return markdown
    decisions = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    titles = [path.read_text("utf-8").partition("\n")[0].lstrip("# ") for path in decisions]
    rows = [f"- [{title}]({path.name})" for title, path in zip(titles, decisions, strict=True)]
    return "\n".join([markdown, "", *rows])


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    PAGE.write_text(updated(text), "utf-8")
    sys.exit(0)
