"""Functions compiled by numba (extra `fast`) and kept on disk, where there is a place to keep them."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

njit: Any = numba.njit
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*signature: Any, **options: Any) -> Callable[[Function], Function]:
    """A decorator as `numba.njit`; what it compiled is on disk for the next process."""

    def decorate(function: Function) -> Function:
        try:
            return cast(Function, njit(*signature, cache=True, **options)(function))
        except RuntimeError:
            # Neither the installation nor the user's home can be written, as in many containers: compile each time.
            return cast(Function, njit(*signature, **options)(function))

    return decorate
