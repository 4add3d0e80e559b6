"""The U.S. Standard Atmosphere of 1976 up to 84.852 km of geopotential altitude."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
EARTH_RADIUS = 6_356_766.0  # m, as the standard has it
GRAVITY = 9.80665  # m/s²
GAS_CONSTANT = 8.31432 / 0.0289644  # J/(kg K) of dry air
SEA_LEVEL_PRESSURE = 101_325.0  # Pa
_BASE = np.array([0.0, 11e3, 20e3, 32e3, 47e3, 51e3, 71e3])  # m, geopotential
_LAPSE = np.array([-6.5e-3, 0.0, 1e-3, 2.8e-3, 0.0, -2.8e-3, -2e-3])  # K/m
_TOP = 84_852.0


@dataclass(frozen=True, slots=True)
class Air:
    """Temperature (K), pressure (Pa) and density (kg/m³)."""

    temperature: Floats
    pressure: Floats
    density: Floats


def standard_air(altitude: ArrayLike) -> Air:
    """The air at geometric altitudes (m above sea level), any shape; above the last layer it stays as at its top."""
    height = np.asarray(altitude, np.float64)
    geopotential = np.minimum(EARTH_RADIUS * height / (EARTH_RADIUS + height), _TOP)
    layer = np.clip(np.searchsorted(_BASE, geopotential, side="right") - 1, 0, len(_BASE) - 1)
    above = geopotential - _BASE[layer]
    temperature = _TEMPERATURE[layer] + _LAPSE[layer] * above
    pressure = _PRESSURE[layer] * _ratio(_TEMPERATURE[layer], _LAPSE[layer], above)
    return Air(temperature, pressure, pressure / (GAS_CONSTANT * temperature))


def pressure_altitude(pressure: ArrayLike, sea_level_pressure: float = SEA_LEVEL_PRESSURE) -> Floats:
    """What an altimeter set to a sea-level pressure (Pa) shows, by the law of the lowest layer (m)."""
    ratio = np.asarray(pressure, np.float64) / sea_level_pressure
    exponent = -GAS_CONSTANT * _LAPSE[0] / GRAVITY
    altitude: Floats = _TEMPERATURE[0] / _LAPSE[0] * (ratio**exponent - 1.0)
    return altitude


def _ratio(temperature: ArrayLike, lapse: ArrayLike, above: ArrayLike) -> Floats:
    """Pressure at a height above the base of a layer, relative to that at its base."""
    t, rate, h = (np.asarray(values, np.float64) for values in (temperature, lapse, above))
    steady = rate == 0.0
    exponent = -GRAVITY / (GAS_CONSTANT * np.where(steady, 1.0, rate))
    with np.errstate(invalid="ignore"):
        changing = (1.0 + rate * h / t) ** exponent
    return np.where(steady, np.exp(-GRAVITY * h / (GAS_CONSTANT * t)), changing)


def _layers() -> tuple[Floats, Floats]:
    temperature, pressure = [288.15], [SEA_LEVEL_PRESSURE]
    for lower, upper, rate in zip(_BASE, _BASE[1:], _LAPSE, strict=False):
        pressure.append(pressure[-1] * float(_ratio(temperature[-1], rate, upper - lower)))
        temperature.append(temperature[-1] + rate * (upper - lower))
    return np.array(temperature), np.array(pressure)


_TEMPERATURE, _PRESSURE = _layers()
