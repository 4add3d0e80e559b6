"""RaiSim Engine 2 scenes (`.rscene`): every record, byte for byte.

`read` and `write` go between files and worlds. Below them, `parse` gives the document: lines kept as bytes, with a
typed view of each record; `canonical` orders and spells it as the saver does, `validate` finds what is wrong with
it and `lint` what is odd.
"""

from diorama.formats.rscene.canonical import canonical
from diorama.formats.rscene.components import Appearance, RsceneRecord
from diorama.formats.rscene.dense import Instances, Particles, Points, instances, particles, points, record_of
from diorama.formats.rscene.document import Document, Record, parse
from diorama.formats.rscene.files import check, read, reparent, write
from diorama.formats.rscene.lint import lint
from diorama.formats.rscene.project import Project, project_of, read_project, resolve_asset
from diorama.formats.rscene.terrain import terrain_heights, terrain_points
from diorama.formats.rscene.validate import validate

__all__ = [
    "Appearance",
    "Document",
    "Instances",
    "Particles",
    "Points",
    "Project",
    "Record",
    "RsceneRecord",
    "canonical",
    "check",
    "instances",
    "lint",
    "parse",
    "particles",
    "points",
    "project_of",
    "read",
    "read_project",
    "record_of",
    "reparent",
    "resolve_asset",
    "terrain_heights",
    "terrain_points",
    "validate",
    "write",
]
