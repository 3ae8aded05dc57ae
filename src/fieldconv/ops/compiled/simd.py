"""One cache line of numbers as a value inside numba kernels: 16 float32 or 8 float64.

LLVM maps a `Line` to the vector registers of the processor. Numba by itself neither keeps an array of running
sums in registers nor turns longer loops into vector arithmetic, which is worth a factor of three here.
``+ - *`` work on lines, and on a line and a number.

After a change here touch the files of the kernels, since numba looks at no other dates for its cache.
"""

# mypy: disable-error-code="misc, untyped-decorator"
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, overload, register_model

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value, VectorType
    from numba.core.base import BaseContext
    from numba.core.datamodel import DataModelManager
    from numba.core.typing import Context, Signature
    from numba.types import Type

    Intrinsic = tuple[Signature, Callable[..., Value]]  # its types, and what writes its instructions

BYTES = 64
Count = tuple[int, ...]  # as many items as there are lines: a number that the compiler knows
_FUSE = ("contract",)  # a product and a sum may become one instruction
_INT = ir.IntType(32)


class Line(types.Type):
    """A vector of numbers, as many as ``lanes``, by default one cache line."""

    def __init__(self, dtype: types.Float, lanes: int | None = None) -> None:
        self.dtype = dtype
        self.lanes = lanes or BYTES * 8 // dtype.bitwidth
        super().__init__(name=f"Line({dtype}, {self.lanes})")


@register_model(Line)
class _LineModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, line: Line) -> None:
        super().__init__(
            manager, line, ir.VectorType(manager.lookup(line.dtype).get_value_type(), line.lanes)
        )


class Code(NamedTuple):
    """Where an intrinsic writes its instructions."""

    context: BaseContext
    builder: IRBuilder
    result: Type  # what the intrinsic returns

    def vector(self, line: Line) -> VectorType:
        """Return the LLVM type of a line."""
        return self.context.get_value_type(line)

    def shuffle(self, first: Value, second: Value, lanes: list[int]) -> Value:
        order = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
        return self.builder.shuffle_vector(first, second, order)

    def broadcast(self, vector: VectorType, value: Value) -> Value:
        """Return a vector with the number ``value`` in every lane, or the vector that it is already."""
        if value.type == vector:
            return value
        nothing = ir.Constant(vector, ir.Undefined)
        one = self.builder.insert_element(nothing, value, ir.Constant(_INT, 0))
        return self.shuffle(one, nothing, [0] * vector.count)

    def call(self, name: str, *args: Value) -> Value:
        """Call an LLVM intrinsic that takes and returns vectors of one type."""
        vector = args[0].type
        suffix = f".v{vector.count}f{64 if isinstance(vector.element, ir.DoubleType) else 32}"
        kind = ir.FunctionType(vector, [vector] * len(args))
        return self.builder.call(
            cgutils.get_or_insert_function(self.builder.module, kind, name + suffix), args
        )

    def multiply_add(self, factor: Value, line: Value, total: Value) -> Value:
        return self.call("llvm.fmuladd", self.broadcast(line.type, factor), line, total)

    def address(self, array: Type, data: Value, index: Value, kind: ir.Type, skip: int = 0) -> Value:
        """Return where a value of the LLVM type ``kind`` begins: ``skip`` values after ``array[index]``."""
        if skip:
            count = skip * (kind.count if isinstance(kind, ir.VectorType) else 1)
            index = self.builder.add(index, ir.Constant(index.type, count))
        start = self.context.make_array(array)(self.context, self.builder, data).data
        address = self.builder.gep(start, [index], source_etype=self.context.get_data_type(array.dtype))
        if address.type.is_opaque:
            return address
        return self.builder.bitcast(address, ir.PointerType(kind))  # older llvmlite: pointers have types

    def load(self, array: Type, data: Value, index: Value, kind: ir.Type, skip: int = 0) -> Value:
        address = self.address(array, data, index, kind, skip)
        return self.builder.load(address, align=array.dtype.bitwidth // 8, typ=kind)

    def load_scalar(self, array: Type, data: Value, index: Value, skip: int = 0) -> Value:
        return self.load(array, data, index, self.context.get_data_type(array.dtype), skip)

    def store(self, value: Value, array: Type, data: Value, index: Value, skip: int = 0) -> None:
        address = self.address(array, data, index, value.type, skip)
        self.builder.store(value, address, align=array.dtype.bitwidth // 8)

    def items(self, values: Value, like: Type) -> list[Value]:
        """Return the items of a tuple."""
        return [self.builder.extract_value(values, k) for k in range(len(like))]

    def tuple(self, values: Sequence[Value]) -> Value:
        return self.context.make_tuple(self.builder, self.result, values)

    def transpose(self, a: Value, b: Value, c: Value, d: Value) -> list[Value]:
        """Return 4 × 4 transposes side by side of four lines: numbers move fastest within four lanes."""
        lanes = a.type.count

        def pick(first: Value, second: Value, picks: Sequence[int]) -> Value:
            """In every four lanes, those picked from the four of ``first`` (0 … 3) and ``second`` (4 … 7)."""
            order = [start + pick % 4 + pick // 4 * lanes for start in range(0, lanes, 4) for pick in picks]
            return self.shuffle(first, second, order)

        halves = [(pick(a, b, half), pick(c, d, half)) for half in ((0, 4, 1, 5), (2, 6, 3, 7))]
        return [pick(*half, ends) for half in halves for ends in ((0, 1, 4, 5), (2, 3, 6, 7))]


def intrinsic(define: Callable[..., Intrinsic]) -> Callable[..., Value]:
    """Return an intrinsic whose instructions are written by a function of a `Code` and the arguments.

    Where the function returns nothing, so does the intrinsic.
    """

    @functools.wraps(define)
    def defined(typing: Context, *args: Type) -> Intrinsic:
        signature, emit = define(typing, *args)

        def generate(
            context: BaseContext, builder: IRBuilder, kind: Signature, args: Sequence[Value]
        ) -> Value:
            result = emit(Code(context, builder, kind.return_type), *args)
            return context.get_dummy_value() if result is None else result

        return signature, generate

    return numba_intrinsic(defined)  # type: ignore[no-any-return]


def _of_line(emit: Callable[[Code, Value], Value]) -> Callable[..., Value]:
    """Return an intrinsic that makes a line of another one of the same type."""

    def defined(typing: Context, line: Line) -> Intrinsic:
        return line(line), emit

    return intrinsic(defined)


@intrinsic
def load_scalar(typing: Context, array: Type, index: Type) -> Intrinsic:
    """Return ``array[index]`` of a flat contiguous array; negative indices have no meaning."""

    return array.dtype(array, types.intp), lambda code, data, index: code.load_scalar(array, data, index)


def _loading(lanes: int | None) -> Callable[..., Value]:
    def load(typing: Context, array: Type, index: Type) -> Intrinsic:
        line = Line(array.dtype, lanes)
        return line(array, types.intp), lambda code, *place: code.load(array, *place, code.vector(line))

    return intrinsic(load)


load = _loading(None)  # returns the line that begins at array[index] of a flat contiguous array
load_four = _loading(4)  # returns only the four numbers there


@intrinsic
def load_pair(typing: Context, array: Type, index: Type, like: Type) -> Intrinsic:
    """Return the two numbers at ``array[index]`` taking turns, as many as ``like`` has."""

    def emit(code: Code, data: Value, index: Value, like: Value) -> Value:
        pair = code.load(array, data, index, ir.VectorType(like.type.element, 2))
        return code.shuffle(pair, pair, [0, 1] * (like.type.count // 2))

    return like(array, types.intp, like), emit


@intrinsic
def store(typing: Context, array: Type, index: Type, value: Type) -> Intrinsic:
    """Write a line (or four numbers) to ``array[index:]`` of a flat contiguous array."""

    def emit(code: Code, data: Value, index: Value, value: Value) -> None:
        code.store(value, array, data, index)

    return types.void(array, types.intp, value), emit


@intrinsic
def load_quads(typing: Context, array: Type, index: Type) -> Intrinsic:
    """Return four lines from numbers in groups of four: the first of each group, the second, …"""
    line = Line(array.dtype)

    def emit(code: Code, data: Value, index: Value) -> Value:
        group = code.vector(Line(array.dtype, 4))

        def groups(first: int, step: int) -> Value:
            """Return every n-th group from the first on, as one line."""
            if step == line.lanes:
                return code.load(array, data, index, group, first)
            even, odd = groups(first, 2 * step), groups(first + step, 2 * step)
            width = even.type.count
            lanes = [
                4 * k + lane + part for k in range(width // 4) for part in (0, width) for lane in range(4)
            ]
            return code.shuffle(even, odd, lanes)

        return code.tuple(code.transpose(*(groups(first, 4) for first in range(4))))

    return types.UniTuple(line, 4)(array, types.intp), emit


@intrinsic
def store_quads(
    typing: Context, array: Type, index: Type, step: Type, a: Type, b: Type, c: Type, d: Type
) -> Intrinsic:
    """Write four lines as `load_quads` reads them; groups of four begin ``step`` numbers apart."""

    def emit(code: Code, data: Value, index: Value, step: Value, *lines: Value) -> None:
        rows = code.transpose(*lines)
        for lane in range(lines[0].type.count):
            first, row = lane - lane % 4, rows[lane % 4]
            code.store(code.shuffle(row, row, [first + k for k in range(4)]), array, data, index)
            index = code.builder.add(index, step)

    return types.void(array, types.intp, types.intp, a, b, c, d), emit


@intrinsic
def multiply_add(typing: Context, factor: Type, line: Type, total: Type) -> Intrinsic:
    """Return ``factor · line + total``, in one instruction where the processor can."""
    return line(factor if isinstance(factor, Line) else line.dtype, line, total), Code.multiply_add


@_of_line
def zero(code: Code, like: Value) -> Value:
    """Return zeros, as many as ``like`` has."""
    return ir.Constant(like.type, None)


@_of_line
def swap(code: Code, line: Value) -> Value:
    """Exchange neighbouring numbers: the real and imaginary parts of complex numbers."""
    return code.shuffle(line, line, [lane ^ 1 for lane in range(line.type.count)])


@_of_line
def times_i(code: Code, line: Value) -> Value:
    """Multiply complex numbers by i: the imaginary part negated, then the real part."""
    count = line.type.count
    lanes = [lane - 1 if lane % 2 else count + lane + 1 for lane in range(count)]
    return code.shuffle(line, code.builder.fneg(line), lanes)


@_of_line
def magnitude(code: Code, line: Value) -> Value:
    return code.call("llvm.fabs", line)


@_of_line
def floor(code: Code, line: Value) -> Value:
    return code.call("llvm.floor", line)


@intrinsic
def sum_lanes(typing: Context, line: Type) -> Intrinsic:
    """Return the sum of the numbers of a line."""

    def emit(code: Code, vector: Value) -> Value:
        while vector.type.count > 1:
            half = vector.type.count // 2
            low, high = (
                code.shuffle(vector, vector, list(range(start, start + half))) for start in (0, half)
            )
            vector = code.builder.fadd(low, high)
        return code.builder.extract_element(vector, ir.Constant(_INT, 0))

    return line.dtype(line), emit


@intrinsic
def where_positive(typing: Context, condition: Type, yes: Type, no: Type) -> Intrinsic:
    """Return ``yes`` where ``condition`` > 0, else ``no``, also where ``condition`` is NaN."""

    def emit(code: Code, condition: Value, yes: Value, no: Value) -> Value:
        vector = condition.type
        positive = code.builder.fcmp_ordered(">", condition, ir.Constant(vector, None))
        return code.builder.select(positive, code.broadcast(vector, yes), code.broadcast(vector, no))

    yes, no = (value if isinstance(value, Line) else condition.dtype for value in (yes, no))
    return condition(condition, yes, no), emit


# Several lines as one value, a tuple. How many is known when a kernel is compiled, by a tuple of that length.


@intrinsic
def zeros(typing: Context, like: Type, each: Type) -> Intrinsic:
    """Return as many lines of zeros as there are items in ``each``."""

    signature = types.UniTuple(like, len(each))(like, each)
    return signature, lambda code, like, _: code.tuple([ir.Constant(like.type, None)] * len(each))


@intrinsic
def load_each(typing: Context, array: Type, index: Type, each: Type) -> Intrinsic:
    """Return the lines that follow each other from ``array[index]`` on, one for each item."""
    line = Line(array.dtype)

    def emit(code: Code, data: Value, index: Value, _: Value) -> Value:
        return code.tuple([code.load(array, data, index, code.vector(line), k) for k in range(len(each))])

    return types.UniTuple(line, len(each))(array, types.intp, each), emit


@intrinsic
def store_each(typing: Context, array: Type, index: Type, lines: Type) -> Intrinsic:
    """Write lines one after the other to ``array[index:]``."""

    def emit(code: Code, data: Value, index: Value, values: Value) -> None:
        for k, line in enumerate(code.items(values, lines)):
            code.store(line, array, data, index, k)

    return types.void(array, types.intp, lines), emit


@intrinsic
def add_each(typing: Context, totals: Type, factor: Type, lines: Type) -> Intrinsic:
    """Return ``totals`` plus ``factor`` times ``lines``, one by one."""

    def emit(code: Code, sums: Value, factor: Value, values: Value) -> Value:
        pairs = zip(code.items(sums, totals), code.items(values, lines), strict=True)
        return code.tuple([code.multiply_add(factor, line, total) for total, line in pairs])

    return totals(totals, factor, lines), emit


@intrinsic
def multiply_lines(typing: Context, lines: Type, array: Type, index: Type, total: Type) -> Intrinsic:
    """Return ``total`` plus the sum of ``lines`` times the lines from ``array[index]`` on."""

    def emit(code: Code, values: Value, data: Value, index: Value, total: Value) -> Value:
        sums = [total, ir.Constant(total.type, None)]  # two, so that one need not wait for the other
        for k, line in enumerate(code.items(values, lines)):
            sums[k % 2] = code.multiply_add(line, code.load(array, data, index, total.type, k), sums[k % 2])
        return code.builder.fadd(*sums)

    return total(lines, array, types.intp, total), emit


@intrinsic
def add_multiples(typing: Context, totals: Type, array: Type, index: Type, line: Type) -> Intrinsic:
    """Return ``totals`` plus ``line`` times 1, ``array[index]``, ``array[index + 1]``, …"""

    def emit(code: Code, sums: Value, data: Value, index: Value, line: Value) -> Value:
        first, *others = code.items(sums, totals)
        sums_of_lines = [code.builder.fadd(first, line, flags=_FUSE)]
        for k, total in enumerate(others):
            sums_of_lines.append(code.multiply_add(code.load_scalar(array, data, index, k), line, total))
        return code.tuple(sums_of_lines)

    return totals(totals, array, types.intp, line), emit


@intrinsic
def sum_multiples(typing: Context, lines: Type, array: Type, index: Type) -> Intrinsic:
    """Return the sum of ``lines`` times 1, ``array[index]``, ``array[index + 1]``, …"""

    def emit(code: Code, values: Value, data: Value, index: Value) -> Value:
        total, *others = code.items(values, lines)
        for k, line in enumerate(others):
            total = code.multiply_add(code.load_scalar(array, data, index, k), line, total)
        return total

    return lines.dtype(lines, array, types.intp), emit


def _arithmetic(symbol: Callable[..., object], instruction: str) -> None:
    @intrinsic
    def combine(typing: Context, first: Type, second: Type) -> Intrinsic:
        line = first if isinstance(first, Line) else second

        def emit(code: Code, *values: Value) -> Value:
            lines = (code.broadcast(code.vector(line), value) for value in values)
            return getattr(code.builder, instruction)(*lines, flags=_FUSE)

        kinds = (value if isinstance(value, Line) else line.dtype for value in (first, second))
        return line(*kinds), emit

    @overload(symbol, strict=False)
    def _(first: Type, second: Type) -> Callable[..., Value] | None:
        if isinstance(first, Line) or isinstance(second, Line):
            return lambda first, second: combine(first, second)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
