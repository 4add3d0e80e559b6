"""What a LiDAR on a car reports over half a minute of a busy junction, drawn over what there is."""

import sys

import matplotlib

from diorama.ecs import Bounds, Classification, World, propagate
from diorama.geo import quaternion_from_rpy
