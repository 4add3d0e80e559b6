"""Project AirSim: scene, robot and environment files (JSONC) to worlds."""

from diorama.formats.airsim.scene import read

__all__ = ["read"]
