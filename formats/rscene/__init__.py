"""RaiSim Engine 2 scenes (`.rscene`): every record, byte for byte.

`parse` gives the document: lines kept as bytes, with a typed view of each record. `canonical` orders and spells
it as the saver does, `validate` finds what is wrong with it and `lint` what is odd.
"""

from diorama.formats.rscene.canonical import canonical
from diorama.formats.rscene.document import Document, Record, parse
from diorama.formats.rscene.lint import lint
from diorama.formats.rscene.validate import validate

__all__ = ["Document", "Record", "canonical", "lint", "parse", "validate"]
