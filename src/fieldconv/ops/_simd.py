"""One cache line of numbers as a value inside numba kernels: 16 float32 or 8 float64.

LLVM maps a `Line` to whatever vector registers the processor has. Written out this way because numba will
not keep an array of running sums in registers by itself, which is worth a factor of three here.
"""

# mypy: disable-error-code="misc, untyped-decorator"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

BYTES = 64


class Line(types.Type):
    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        self.lanes = BYTES * 8 // dtype.bitwidth
        super().__init__(name=f"Line({dtype})")


@register_model(Line)
class _LineModel(models.PrimitiveModel):
    def __init__(self, manager: Any, line: Line) -> None:
        super().__init__(
            manager, line, ir.VectorType(manager.lookup(line.dtype).get_value_type(), line.lanes)
        )


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, line: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), line.as_pointer())


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """The line that begins at ``array[index]`` of a flat contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        line = context.get_value_type(signature.return_type)
        address = _address(context, builder, signature.args[0], args[0], args[1], line)
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return Line(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a line to ``array[index:]`` of a flat contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def zero(typing: Any, array: Any) -> Any:
    """A line of zeros of the array's type."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return Line(array.dtype)(array), generate


@intrinsic
def multiply_add(typing: Any, factor: Any, line: Any, total: Any) -> Any:
    """``factor · line + total``, with one number ``factor``; fused where the processor can."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = args[1].type
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0)
        )
        factors = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)
        name = f"llvm.fmuladd.v{vector.count}f{line.dtype.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
        return builder.call(function, [factors, args[1], args[2]])

    return line(line.dtype, line, line), generate


@intrinsic
def plus_i(typing: Any, first: Any, second: Any) -> Any:
    """``first + i · second`` for lines of complex numbers, real and imaginary parts taking turns."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = args[0].type
        swap = [lane ^ 1 for lane in range(vector.count)]
        swapped = builder.shuffle_vector(
            args[1],
            ir.Constant(vector, ir.Undefined),
            ir.Constant(ir.VectorType(ir.IntType(32), len(swap)), swap),
        )
        signs = ir.Constant(vector, [(-1.0, 1.0)[lane & 1] for lane in range(vector.count)])
        return builder.fadd(args[0], builder.fmul(signs, swapped))

    return first(first, second), generate
