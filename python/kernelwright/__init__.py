"""FP32 matrix products, reductions and row-wise operations of Kernelwright, for arrays of NumPy, CuPy, PyTorch and JAX.

Arrays    Whatever has DLPack, `__cuda_array_interface__` or the buffer protocol, in host memory or on a GPU. They are
          used where they are, without a copy; all of a call lie on one device. Strides are free as far as BLAS can
          express them: one of a matrix's two is 1, the other at least as long as what it steps over, so that
          transposes and slices of rows are. Others are copied, with a `CopyWarning`.
Streams   On a GPU a call is queued on the stream on which the arrays' package works now (PyTorch's, CuPy's), or on
          `stream`, a cudaStream_t as an int, and returns. Calls may be captured in a CUDA graph.
Results   Of the package, device and type as the first array's; new, or written to `out`.
Errors    `kernelwright.Error` and what is derived from it; nothing was written then. TypeError for what is no array
          or has elements of another type.
Threads   Calls release the GIL; they may come from any number of threads.
"""

from typing import Any, Literal, Optional, Sequence, Union

from . import _core
from ._core import matmul as _matmul
from ._errors import (
    CopyWarning,
    DeviceError,
    Error,
    InternalError,
    InvalidArgumentError,
    NoDeviceError,
    OutOfMemoryError,
    UnsupportedError,
    UnusableFileError,
    WorkspaceTooSmallError,
)

__version__ = _core.version()

__all__ = [
    "CopyWarning",
    "Device",
    "DeviceError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "NoDeviceError",
    "OutOfMemoryError",
    "UnsupportedError",
    "UnusableFileError",
    "WorkspaceTooSmallError",
    "argmax",
    "argmin",
    "attention",
    "devices",
    "gemm",
    "herk",
    "layer_norm",
    "log_softmax",
    "matmul",
    "matmul_out_of_core",
    "max",
    "mean",
    "min",
    "min_max",
    "norm",
    "plan",
    "rms_norm",
    "scale_add",
    "softmax",
    "sum",
    "sum_of_squares",
    "symm",
    "synchronize",
    "syrk",
    "trmm",
    "trsm",
    "var",
]

from ._attention import attention
from ._devices import Device, devices, plan, synchronize
from ._level3 import herk, symm, syrk, trmm, trsm
from ._out_of_core import matmul_out_of_core
from ._reductions import argmax, argmin, max, mean, min, min_max, norm, sum, sum_of_squares, var
from ._rowwise import layer_norm, log_softmax, rms_norm, softmax

Math = Literal["fp32", "fp32_split"]
Activation = Literal["relu", "gelu", "gelu_tanh"]
Axis = Union[None, int, Sequence[int]]


def matmul(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    bias: Any = None,
    activation: Optional[Activation] = None,
    math: Math = "fp32",
    stream: Optional[int] = None,
) -> Any:
    """The matrix product of two float32 or two complex64 arrays, as numpy.matmul has it: activation(a @ b + bias).

    a           (..., m, k), or a vector of k elements, which is one row.
    b           (..., k, n), or a vector of k elements, which is one column. Leading dimensions are a batch, in which
                a length of 1 and missing ones repeat.
    out         (..., m, n), without the dimension that a vector lacks; may not overlap a or b.
    bias        n elements, added to each row.
    activation  "relu"; "gelu", x/2 (1 + erf(x/√2)); "gelu_tanh", its approximation by tanh.
    math        "fp32": every product and sum in single precision. "fp32_split": no less accurate, by sums of narrower
                products on tensor cores where that is faster (Hopper), else the same as "fp32".
    stream      A cudaStream_t as an int; by default that of the arrays' package. The caller orders it.

    InvalidArgumentError: sizes that do not fit, arrays on different devices, an out of another size or within a or b.
    TypeError: elements that are neither float32 nor, both, complex64, whose products take no bias and no activation.

    >>> import numpy as np, kernelwright as kw
    >>> a = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> kw.matmul(a, a)
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    >>> kw.matmul(a, a.T, bias=np.array([-20, 1], dtype=np.float32), activation="relu")
    array([[ 0., 12.],
           [ 0., 26.]], dtype=float32)
    >>> kw.matmul(np.ones((5, 2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (5, 2, 4)
    >>> kw.matmul(a, np.ones(3, np.float32))
    Traceback (most recent call last):
        ...
    kernelwright._errors.InvalidArgumentError: a is (2, 2) and b is (3,): a has 2 columns and b has 3 rows, which must be as many
    """
    return _matmul(a, b, out, bias, activation, math, stream, False)


def gemm(
    alpha: complex,
    a: Any,
    b: Any,
    beta: complex = 0.0,
    out: Any = None,
    *,
    source: Any = None,
    bias: Any = None,
    bias_of: Literal["columns", "rows"] = "columns",
    activation: Optional[Activation] = None,
    math: Math = "fp32",
    stream: Optional[int] = None,
) -> Any:
    """BLAS's product with its scalars: out = activation(alpha · a @ b + beta · source + bias).

    alpha, beta  Complex ones go with complex64 arrays alone. Where alpha is 0 neither a nor b is read, where beta is 0 neither out nor source.
    a, b, out    As in `matmul`. Without `out` the result is a new array.
    source       What beta multiplies, of the result's size; by default what `out` has.
    bias         One element for each column of the result, or for each row where bias_of is "rows".

    Other arguments and errors are those of `matmul`.

    >>> import numpy as np, kernelwright as kw
    >>> a = np.eye(2, dtype=np.float32)
    >>> c = np.ones((2, 2), np.float32)
    >>> kw.gemm(2, a, a, 10, c) is c
    True
    >>> c
    array([[12., 10.],
           [10., 12.]], dtype=float32)
    """
    if bias_of not in ("columns", "rows"):
        raise InvalidArgumentError(f"bias_of is {bias_of!r}: pass 'columns' or 'rows'")
    return _core.gemm(alpha, a, b, beta, out, source, bias, bias_of == "rows", activation, math, stream, False)


def scale_add(
    scale: float, a: Any, shift: float, *, out: Any = None, stream: Optional[int] = None
) -> Any:
    """scale · a + shift, element by element, each rounded once; `out` may be a itself. float32.

    >>> import numpy as np, kernelwright as kw
    >>> kw.scale_add(2, np.arange(3, dtype=np.float32), 1)
    array([1., 3., 5.], dtype=float32)
    """
    return _core.scale_add(scale, a, shift, out, stream)
