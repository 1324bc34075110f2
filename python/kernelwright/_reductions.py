"""Reductions: many numbers to one, along some of an array's dimensions.

Elements are float16, bfloat16 (PyTorch), float32, float64, int8, int32 or int64. Sums of float32 are carried in double
and rounded once at the end, of integers exactly. A NaN among the elements makes every result NaN; argmin and argmax
give the first one's place. A result depends on the elements and their order alone, not on the device.

axis      None: all elements; an int or several: those dimensions.
keepdims  Dimensions that are reduced stay, with length 1.
out       A dense array of the result's size and type.
stream    A cudaStream_t as an int; by default that of the array's package.
"""

from typing import Any, Optional, Sequence, Union

from . import _core
from ._errors import InvalidArgumentError

Axis = Union[None, int, Sequence[int]]


def sum(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The sum; of float16 and bfloat16 as float32, of integers as int64. Of nothing 0.

    >>> import numpy as np, kernelwright as kw
    >>> kw.sum(np.arange(6, dtype=np.float32).reshape(2, 3), axis=0)
    array([3., 5., 7.], dtype=float32)
    """
    return _core.reduce("sum", a, axis, out, keepdims, 0, stream)


def mean(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The mean; of float64 and integers as float64, else as float32. Of nothing NaN.

    >>> import numpy as np, kernelwright as kw
    >>> float(kw.mean(np.arange(4, dtype=np.int32)))
    1.5
    """
    return _core.reduce("mean", a, axis, out, keepdims, 0, stream)


def min(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The smallest element, -0 before +0. Of nothing the type's largest value.

    >>> import numpy as np, kernelwright as kw
    >>> kw.min(np.array([[3, 1], [0, 2]], dtype=np.int32), axis=1)
    array([1, 0], dtype=int32)
    """
    return _core.reduce("min", a, axis, out, keepdims, 0, stream)


def max(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The largest element, -0 before +0. Of nothing the type's smallest value."""
    return _core.reduce("max", a, axis, out, keepdims, 0, stream)


def min_max(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """Smallest and largest element in one pass, as a last dimension of 2.

    >>> import numpy as np, kernelwright as kw
    >>> kw.min_max(np.array([3, 1, 2], dtype=np.float32))
    array([1., 3.], dtype=float32)
    """
    return _core.reduce("min_max", a, axis, out, keepdims, 0, stream)


def _one_axis(axis: Axis, name: str) -> None:
    if not (axis is None or isinstance(axis, int)):
        raise InvalidArgumentError(f"axis is {axis!r}: {name} takes one dimension, or None for all")


def argmin(a: Any, axis: Optional[int] = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The place of the smallest element, the lowest of equals, as int64; of a NaN where there is one. Of nothing -1.

    Without an axis it counts all elements, the last dimension fastest.

    >>> import numpy as np, kernelwright as kw
    >>> int(kw.argmin(np.array([[3, 1], [0, 2]], dtype=np.float32)))
    2
    """
    _one_axis(axis, "argmin")
    return _core.reduce("argmin", a, axis, out, keepdims, 0, stream)


def argmax(a: Any, axis: Optional[int] = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The place of the largest element, as `argmin` has it."""
    _one_axis(axis, "argmax")
    return _core.reduce("argmax", a, axis, out, keepdims, 0, stream)


def sum_of_squares(a: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The sum of squares, in the types of `sum`.

    >>> import numpy as np, kernelwright as kw
    >>> float(kw.sum_of_squares(np.array([3, 4], dtype=np.float32)))
    25.0
    """
    return _core.reduce("sum_of_squares", a, axis, out, keepdims, 0, stream)


_NORMS = {1: "l1_norm", 2: "l2_norm", float("inf"): "max_norm"}


def norm(a: Any, axis: Axis = None, *, ord: float = 2, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The vector norm of order 1, 2 or infinity; order 2 neither overflows nor underflows on the way.

    >>> import numpy as np, kernelwright as kw
    >>> float(kw.norm(np.array([3e30, 4e30], dtype=np.float32)) / np.float32(5e30))
    1.0
    """
    if ord not in _NORMS:
        raise InvalidArgumentError(f"ord is {ord!r}: pass 1, 2 or float('inf')")
    return _core.reduce(_NORMS[ord], a, axis, out, keepdims, 0, stream)


def var(a: Any, axis: Axis = None, *, correction: int = 0, keepdims: bool = False, out: Any = None, stream: Optional[int] = None) -> Any:
    """The variance, which divides by the number of elements less `correction` (0: population, 1: sample).

    Of no more elements than `correction` NaN.

    >>> import numpy as np, kernelwright as kw
    >>> float(kw.var(np.array([1, 2, 3, 4], dtype=np.float32)))
    1.25
    """
    return _core.reduce("variance", a, axis, out, keepdims, correction, stream)
