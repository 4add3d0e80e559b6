"""The standard atmosphere against the printed table of 1976 (geopotential altitude, temperature, pressure)."""

import numpy as np
import pytest

from diorama.runtime.atmosphere import EARTH_RADIUS, pressure_altitude, standard_air

TABLE = [  # m, K, Pa
    (0.0, 288.15, 101325.0),
    (11_000.0, 216.65, 22632.06),
    (20_000.0, 216.65, 5474.889),
    (32_000.0, 228.65, 868.0187),
    (47_000.0, 270.65, 110.9063),
    (51_000.0, 270.65, 66.93887),
    (71_000.0, 214.65, 3.956420),
    (84_852.0, 186.946, 0.3733836),
]


@pytest.mark.parametrize(("geopotential", "temperature", "pressure"), TABLE)
def test_the_layers(geopotential: float, temperature: float, pressure: float) -> None:
    air = standard_air(EARTH_RADIUS * geopotential / (EARTH_RADIUS - geopotential))
    assert float(air.temperature) == pytest.approx(temperature, rel=1e-6)
    assert float(air.pressure) == pytest.approx(pressure, rel=2e-6)


def test_density_at_sea_level_and_below() -> None:
    air = standard_air([0.0, -400.0])
    assert air.density[0] == pytest.approx(1.2250, rel=1e-4)
    assert air.pressure[1] == pytest.approx(106_223.0, rel=1e-4)  # the Dead Sea's shore


def test_an_altimeter_shows_the_altitude_in_the_lowest_layer() -> None:
    heights = np.linspace(-500, 10_900, 50)
    shown = pressure_altitude(standard_air(heights).pressure)
    np.testing.assert_allclose(shown, EARTH_RADIUS * heights / (EARTH_RADIUS + heights), atol=1e-6)
    assert float(pressure_altitude(101_325.0, 100_000.0)) < 0.0
