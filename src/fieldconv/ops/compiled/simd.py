"""One cache line of numbers as a value inside numba kernels: 16 float32 or 8 float64.

LLVM maps a `Line` to whatever vector registers the processor has. Written out this way because numba will
not keep an array of running sums in registers by itself, nor turn longer loops into vector arithmetic,
which is worth a factor of three here. ``+ - *`` work on lines, and on a line and a number.

After a change here touch the files of the kernels: numba knows its cached code by their dates alone.
"""

# mypy: disable-error-code="misc, untyped-decorator"
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

BYTES = 64
_FUSE = ("contract",)  # a product and a sum may become one instruction
_INT = ir.IntType(32)


class Line(types.Type):
    """A vector of numbers; of one cache line unless ``lanes`` says otherwise."""

    def __init__(self, dtype: types.Float, lanes: int | None = None) -> None:
        self.dtype = dtype
        self.lanes = lanes or BYTES * 8 // dtype.bitwidth
        super().__init__(name=f"Line({dtype}, {self.lanes})")


@register_model(Line)
class _LineModel(models.PrimitiveModel):
    def __init__(self, manager: Any, line: Line) -> None:
        super().__init__(
            manager, line, ir.VectorType(manager.lookup(line.dtype).get_value_type(), line.lanes)
        )


def _shuffle(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT, len(lanes)), lanes))


def _spread(builder: Any, vector: Any, value: Any) -> Any:
    """The number ``value`` in every lane."""
    if value.type == vector:
        return value
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(_INT, 0))
    return _shuffle(builder, one, nothing, [0] * vector.count)


def _call(builder: Any, name: str, *args: Any) -> Any:
    """Call an LLVM intrinsic that takes and gives vectors of one type."""
    vector = args[0].type
    suffix = f".v{vector.count}f{64 if isinstance(vector.element, ir.DoubleType) else 32}"
    function_type = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name + suffix), args)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: Any) -> Any:
    """Return where in a flat contiguous array a value of the LLVM type ``kind`` begins."""
    data = context.make_array(array_type)(context, builder, array).data
    address = builder.gep(data, [index], source_etype=context.get_data_type(array_type.dtype))
    if address.type.is_opaque:
        return address
    return builder.bitcast(address, ir.PointerType(kind))  # older llvmlite: pointers know what they point to


@intrinsic
def peek(typing: Any, array: Any, index: Any) -> Any:
    """``array[index]`` of a flat contiguous array, without looking for negative indices."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_data_type(array.dtype)
        address = _address(context, builder, signature.args[0], args[0], args[1], number)
        return builder.load(address, typ=number)

    return array.dtype(array, types.intp), generate


def _loading(lanes: int | None) -> Any:
    def load(typing: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = context.get_value_type(signature.return_type)
            address = _address(context, builder, signature.args[0], args[0], args[1], vector)
            return builder.load(address, align=array.dtype.bitwidth // 8, typ=vector)

        return Line(array.dtype, lanes)(array, types.intp), generate

    return intrinsic(load)


load = _loading(None)  # the line that begins at array[index] of a flat contiguous array
load_four = _loading(4)  # only the four numbers there


@intrinsic
def zero(typing: Any, like: Any) -> Any:
    """Zeros, as many as ``like`` has."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(args[0].type, None)

    return like(like), generate


@intrinsic
def load_pair(typing: Any, array: Any, index: Any, like: Any) -> Any:
    """The two numbers at ``array[index]`` taking turns, as many as ``like`` has."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(args[2].type.element, 2)
        address = _address(context, builder, signature.args[0], args[0], args[1], vector)
        pair = builder.load(address, align=array.dtype.bitwidth // 8, typ=vector)
        return _shuffle(builder, pair, pair, [0, 1] * (like.lanes // 2))

    return like(array, types.intp, like), generate


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a line (or four numbers) to ``array[index:]`` of a flat contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


def _pick(builder: Any, first: Any, second: Any, picks: tuple[int, int, int, int]) -> Any:
    """In every four lanes, those picked from the four of ``first`` (0 … 3) and of ``second`` (4 … 7)."""
    lanes = first.type.count
    order = [start + pick % 4 + pick // 4 * lanes for start in range(0, lanes, 4) for pick in picks]
    return _shuffle(builder, first, second, order)


@intrinsic
def load_quads(typing: Any, array: Any, index: Any) -> Any:
    """Four lines from numbers in groups of four: the first of each group, the second, …

    As 4 × 4 transposes side by side, since numbers move fastest within four lanes.
    """
    line = Line(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        group = ir.VectorType(context.get_value_type(array.dtype), 4)
        start = _address(context, builder, signature.args[0], args[0], args[1], group)

        def groups(first: int, step: int) -> Any:
            """Return every n-th group from the first on, as one line."""
            if step == line.lanes:
                address = builder.gep(start, [ir.Constant(_INT, first)], source_etype=group)
                return builder.load(address, align=array.dtype.bitwidth // 8, typ=group)
            even, odd = groups(first, 2 * step), groups(first + step, 2 * step)
            width = even.type.count
            lanes = [
                4 * k + lane + part for k in range(width // 4) for part in (0, width) for lane in range(4)
            ]
            return _shuffle(builder, even, odd, lanes)

        a, b, c, d = (groups(first, 4) for first in range(4))
        halves = [
            (_pick(builder, a, b, half), _pick(builder, c, d, half)) for half in ((0, 4, 1, 5), (2, 6, 3, 7))
        ]
        lines = [_pick(builder, *half, ends) for half in halves for ends in ((0, 1, 4, 5), (2, 3, 6, 7))]
        return context.make_tuple(builder, signature.return_type, lines)

    return types.UniTuple(line, 4)(array, types.intp), generate


@intrinsic
def store_quads(typing: Any, array: Any, index: Any, step: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The opposite of `load_quads`; a group of four begins ``step`` numbers after the one before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, step, a, b, c, d = args[1:]
        group = ir.VectorType(a.type.element, 4)
        halves = [
            (_pick(builder, a, b, half), _pick(builder, c, d, half)) for half in ((0, 4, 1, 5), (2, 6, 3, 7))
        ]
        rows = [_pick(builder, *half, ends) for half in halves for ends in ((0, 1, 4, 5), (2, 3, 6, 7))]
        for lane in range(a.type.count):
            first = lane - lane % 4
            quad = _shuffle(builder, rows[lane % 4], rows[lane % 4], [first + k for k in range(4)])
            address = _address(context, builder, signature.args[0], args[0], place, group)
            builder.store(quad, address, align=array.dtype.bitwidth // 8)
            place = builder.add(place, step)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, a, b, c, d), generate


@intrinsic
def multiply_add(typing: Any, factor: Any, line: Any, total: Any) -> Any:
    """``factor · line + total`` in one instruction where the processor can."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.fmuladd", _spread(builder, args[1].type, args[0]), args[1], args[2])

    return line(factor if isinstance(factor, Line) else line.dtype, line, total), generate


@intrinsic
def swap(typing: Any, line: Any) -> Any:
    """Neighbouring numbers exchanged: the real and imaginary parts of complex numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _shuffle(builder, args[0], args[0], [lane ^ 1 for lane in range(line.lanes)])

    return line(line), generate


@intrinsic
def turn(typing: Any, line: Any) -> Any:
    """Complex numbers times i: the imaginary part negated, then the real part."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = [lane - 1 if lane % 2 else line.lanes + lane + 1 for lane in range(line.lanes)]
        return _shuffle(builder, args[0], builder.fneg(args[0]), lanes)

    return line(line), generate


# Several lines as one value, a tuple. How many is known when a kernel is compiled, by a tuple of that length.


def _line_of(context: Any, builder: Any, kind: Any, array: Any, index: Any, k: int, vector: Any) -> Any:
    """The k-th of the lines that follow each other from ``array[index]`` on."""
    place = builder.add(index, ir.Constant(index.type, k * vector.count))
    address = _address(context, builder, kind, array, place, vector)
    return builder.load(address, align=kind.dtype.bitwidth // 8, typ=vector)


@intrinsic
def zeros(typing: Any, like: Any, each: Any) -> Any:
    """As many lines of zeros as there are items in ``each``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(args[0].type, None)
        return context.make_tuple(builder, signature.return_type, [nothing] * len(each))

    return types.UniTuple(like, len(each))(like, each), generate


@intrinsic
def load_each(typing: Any, array: Any, index: Any, each: Any) -> Any:
    """The lines that follow each other from ``array[index]`` on, one for each item."""
    line = Line(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.get_value_type(line)
        lines = [
            _line_of(context, builder, signature.args[0], args[0], args[1], k, vector)
            for k in range(len(each))
        ]
        return context.make_tuple(builder, signature.return_type, lines)

    return types.UniTuple(line, len(each))(array, types.intp, each), generate


@intrinsic
def store_each(typing: Any, array: Any, index: Any, lines: Any) -> Any:
    """Write lines one after the other to ``array[index:]``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for k in range(len(lines)):
            line = builder.extract_value(args[2], k)
            place = builder.add(args[1], ir.Constant(args[1].type, k * line.type.count))
            address = _address(context, builder, signature.args[0], args[0], place, line.type)
            builder.store(line, address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lines), generate


@intrinsic
def add_each(typing: Any, totals: Any, factor: Any, lines: Any) -> Any:
    """``totals`` plus ``factor`` times ``lines``, one by one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = []
        for k in range(len(totals)):
            total, line = builder.extract_value(args[0], k), builder.extract_value(args[2], k)
            found.append(_call(builder, "llvm.fmuladd", _spread(builder, total.type, args[1]), line, total))
        return context.make_tuple(builder, signature.return_type, found)

    return totals(totals, factor, lines), generate


@intrinsic
def multiply_lines(typing: Any, lines: Any, array: Any, index: Any, total: Any) -> Any:
    """``total`` plus the sum of ``lines`` times those that follow each other from ``array[index]`` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums = [args[3], ir.Constant(args[3].type, None)]  # two, so that one need not wait for the other
        for k in range(len(lines)):
            line = _line_of(context, builder, signature.args[1], args[1], args[2], k, args[3].type)
            sums[k % 2] = _call(builder, "llvm.fmuladd", builder.extract_value(args[0], k), line, sums[k % 2])
        return builder.fadd(*sums)

    return total(lines, array, types.intp, total), generate


@intrinsic
def total(typing: Any, line: Any) -> Any:
    """The sum of the numbers of a line."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (vector,) = args
        while vector.type.count > 1:
            half = vector.type.count // 2
            low, high = (
                _shuffle(builder, vector, vector, list(range(start, start + half))) for start in (0, half)
            )
            vector = builder.fadd(low, high)
        return builder.extract_element(vector, ir.Constant(_INT, 0))

    return line.dtype(line), generate


def _factor(context: Any, builder: Any, kind: Any, array: Any, index: Any, k: int, vector: Any) -> Any:
    """The number ``array[index + k]`` in every lane."""
    number = context.get_data_type(kind.dtype)
    place = builder.add(index, ir.Constant(index.type, k))
    address = _address(context, builder, kind, array, place, number)
    return _spread(builder, vector, builder.load(address, typ=number))


@intrinsic
def add_multiples(typing: Any, totals: Any, array: Any, index: Any, line: Any) -> Any:
    """``totals`` plus ``line`` times 1, ``array[index]``, ``array[index + 1]``, …"""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found, (_, values, place, line) = [], args
        for k in range(len(totals)):
            total = builder.extract_value(args[0], k)
            if k == 0:
                found.append(builder.fadd(total, line, flags=_FUSE))
            else:
                factor = _factor(context, builder, signature.args[1], values, place, k - 1, line.type)
                found.append(_call(builder, "llvm.fmuladd", factor, line, total))
        return context.make_tuple(builder, signature.return_type, found)

    return totals(totals, array, types.intp, line), generate


@intrinsic
def sum_multiples(typing: Any, lines: Any, array: Any, index: Any) -> Any:
    """The sum of ``lines`` times 1, ``array[index]``, ``array[index + 1]``, …"""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total = builder.extract_value(args[0], 0)
        for k in range(1, len(lines)):
            factor = _factor(context, builder, signature.args[1], args[1], args[2], k - 1, total.type)
            total = _call(builder, "llvm.fmuladd", factor, builder.extract_value(args[0], k), total)
        return total

    return lines.dtype(lines, array, types.intp), generate


@intrinsic
def magnitude(typing: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.fabs", args[0])

    return line(line), generate


@intrinsic
def floor(typing: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.floor", args[0])

    return line(line), generate


@intrinsic
def where_positive(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """``yes`` where ``condition`` > 0, else ``no``, also where ``condition`` is not a number."""
    line = condition

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = args[0].type
        positive = builder.fcmp_ordered(">", args[0], ir.Constant(vector, None))
        return builder.select(positive, _spread(builder, vector, args[1]), _spread(builder, vector, args[2]))

    yes, no = (value if isinstance(value, Line) else line.dtype for value in (yes, no))
    return line(line, yes, no), generate


def _arithmetic(symbol: Callable[[Any, Any], Any], instruction: str) -> None:
    @intrinsic
    def combine(typing: Any, first: Any, second: Any) -> Any:
        line = first if isinstance(first, Line) else second

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first, second = (_spread(builder, context.get_value_type(line), value) for value in args)
            return getattr(builder, instruction)(first, second, flags=_FUSE)

        kinds = (value if isinstance(value, Line) else line.dtype for value in (first, second))
        return line(*kinds), generate

    @overload(symbol, strict=False)
    def _(first: Any, second: Any) -> Any:
        if isinstance(first, Line) or isinstance(second, Line):
            return lambda first, second: combine(first, second)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
