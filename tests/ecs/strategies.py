"""Hypothesis strategies for poses and forests."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

coordinates = st.floats(-1e5, 1e5, allow_subnormal=False)
scales = st.floats(0.1, 10.0)


@st.composite
def quaternions(draw: st.DrawFn) -> tuple[float, ...]:
    """Unit quaternions xyzw, spread over all rotations."""
    values = np.array(draw(st.tuples(*[st.floats(-1, 1)] * 4)))
    norm = np.linalg.norm(values)
    return (0.0, 0.0, 0.0, 1.0) if norm < 0.1 else tuple((values / norm).tolist())


@st.composite
def forests(
    draw: st.DrawFn, *, uniform_scale: bool = True, max_size: int = 24
) -> tuple[list[int], NDArray[np.float64]]:
    """Parents (indices, -1 for roots, in any order) and (n, 10) local poses."""
    size = draw(st.integers(0, max_size))
    ranked = [draw(st.integers(-1, index - 1)) for index in range(size)]
    shuffle = draw(st.permutations(range(size)))
    parents = [-1] * size
    for index, parent in enumerate(ranked):
        parents[shuffle[index]] = -1 if parent < 0 else shuffle[parent]
    poses = np.empty((size, 10))
    for row in poses:
        row[0:3] = draw(st.tuples(*[coordinates] * 3))
        row[3:7] = draw(quaternions())
        row[7:10] = draw(scales) if uniform_scale else draw(st.tuples(*[scales] * 3))
    return parents, poses
