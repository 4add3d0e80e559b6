"""Fixtures of the formats."""

import pytest

from diorama.ecs import World
from diorama.formats import rscene
from diorama.tests.formats.rscene_round_trips import WORKSHOP


@pytest.fixture
def workshop() -> World:
    return rscene.read(WORKSHOP)
