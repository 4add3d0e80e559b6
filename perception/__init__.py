"""What a sensor would say there is: detection, noise, occlusion, delay."""

from diorama.perception.parameter_file import parameters_from_dict, read_parameters
from diorama.perception.parameters import DETECTION_TOPIC, GROUND_TRUTH_TOPIC, Lidar, Parameters
from diorama.perception.sensors import attach
from diorama.perception.topics import Perception

__all__ = [
    "DETECTION_TOPIC",
    "GROUND_TRUTH_TOPIC",
    "Lidar",
    "Parameters",
    "Perception",
    "attach",
    "parameters_from_dict",
    "read_parameters",
]
