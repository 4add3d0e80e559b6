"""Four numbers at a time in compiled code: as wide as a quaternion, and twice as fast as one by one.

numba has scalars and arrays only. This adds the type `Four` with `+`, `-` and `*`, each rounded as the scalar operation
is, and the few functions that the transform kernel needs. Where a processor has narrower registers, LLVM splits it.
What numba keeps on disk it renews when the file of a kernel changes, not when this one does: touch the kernel too.
"""
# ruff: noqa: ARG001 (numba reads the arguments' names and calls with their types)

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

_FLOATS = ir.VectorType(ir.DoubleType(), 4)
_BITS = ir.VectorType(ir.IntType(64), 4)
_PLACES = ir.VectorType(ir.IntType(32), 4)
_FIRST = ir.Constant(ir.IntType(32), 0)
_SIGN_OF_LAST = ir.Constant(_BITS, [0, 0, 0, 1 << 63])


class Four(types.Type):
    """The type of four float64 in one register."""


_Model: Any = models.PrimitiveModel
_item_pointer: Any = cgutils.get_item_pointer
register_model(Four)(lambda manager, kind: _Model(manager, kind, _FLOATS))
four = Four("four")


def _function(declare: Callable[..., Any]) -> Any:
    """For use in compiled code; typed loosely, since numba calls `declare` with types and users call it with values."""
    return intrinsic(declare)


def _operator(python: Callable[[Any, Any], Any], instruction: str) -> None:
    @_function
    def apply(_: Any, one: Any, two: Any) -> Any:
        return four(four, four), lambda _context, builder, _signature, pair: getattr(builder, instruction)(
            *pair
        )

    overload(python, strict=False)(
        lambda one, two: (lambda one, two: apply(one, two)) if one == two == four else None
    )


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")


@_function
def load(_: Any, block: Any, row: Any, column: Any) -> Any:
    """Four numbers of a row of an (n, k) array, from a column on; nobody checks that they are inside."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=8)

    return four(block, types.uintp, types.uintp), generate


@_function
def store(_: Any, block: Any, row: Any, column: Any, value: Any) -> Any:
    """Write four numbers of a row, from a column on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        *place, numbers = arguments
        builder.store(numbers, _address(context, builder, signature.args[0], *place), align=8)

    return types.void(block, types.uintp, types.uintp, four), generate


def _address(context: Any, builder: Any, kind: Any, block: Any, row: Any, column: Any) -> Any:
    array = context.make_array(kind)(context, builder, block)
    item = _item_pointer(context, builder, kind, array, [row, column], wraparound=False)
    return builder.bitcast(item, _FLOATS.as_pointer())


def pick(*places: int) -> Any:
    """A function of a `Four` that gives these of its numbers, in this order."""
    order = ir.Constant(_PLACES, places)

    @_function
    def picked(_: Any, value: Any) -> Any:
        return four(four), lambda _context, builder, _signature, given: builder.shuffle_vector(
            *given, *given, order
        )

    return picked


@_function
def first(_: Any, value: Any) -> Any:
    """The first of the four."""
    return types.float64(four), lambda _context, builder, _signature, given: builder.extract_element(
        *given, _FIRST
    )


@_function
def alike(_: Any, number: Any) -> Any:
    """Four times the same number."""

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        one = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), *given, _FIRST)
        return builder.shuffle_vector(one, one, ir.Constant(_PLACES, [0] * 4))

    return four(types.float64), generate


@_function
def negate_last(_: Any, value: Any) -> Any:
    """The same four, the last with its sign turned."""

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        return builder.bitcast(builder.xor(builder.bitcast(*given, _BITS), _SIGN_OF_LAST), _FLOATS)

    return four(four), generate


@_function
def differ(_: Any, one: Any, two: Any) -> Any:
    """Whether any bit differs."""

    def generate(_context: Any, builder: Any, _signature: Any, pair: Any) -> Any:
        return _any(builder, builder.icmp_unsigned("!=", *(builder.bitcast(each, _BITS) for each in pair)))

    return types.boolean(four, four), generate


@_function
def infinite(_: Any, value: Any) -> Any:
    """Whether any of the four is not finite."""

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        zero_or_nan = builder.fsub(*given, *given)
        return _any(builder, builder.fcmp_unordered("uno", zero_or_nan, zero_or_nan))

    return types.boolean(four), generate


def _any(builder: Any, flags: Any) -> Any:
    return builder.icmp_unsigned("!=", builder.bitcast(flags, ir.IntType(4)), ir.Constant(ir.IntType(4), 0))
