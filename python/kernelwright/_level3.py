"""Products and solves with symmetric and triangular float32 matrices; updates and solves of complex64 ones too.

a, b, out  Matrices; of a the triangle `uplo` is read, and its other elements may be anything.
uplo       "lower" or "upper".
side       "left": a stands before b; "right": after it.
out        Where the result goes, else a new matrix. It and b have their elements in the same order, by rows or by
           columns; a new one is by rows, for which a b by columns is copied, with a CopyWarning.
math       "fp32" or "fp32_split", as in `matmul`.
stream     A cudaStream_t as an int; by default that of the arrays' package.

InvalidArgumentError: sizes that do not fit, arrays on different devices, an out that shares elements with an operand
where it may not. TypeError: elements that are not float32.
"""

from typing import Any, Literal, Optional

from . import _core
from ._errors import InvalidArgumentError

Uplo = Literal["lower", "upper"]
Side = Literal["left", "right"]


def _is_second(name: str, value: str, first: str, second: str) -> bool:
    if value not in (first, second):
        raise InvalidArgumentError(f"{name} is {value!r}: pass {first!r} or {second!r}")
    return value == second


def syrk(
    a: Any, *, alpha: complex = 1.0, beta: complex = 0.0, out: Any = None, uplo: Uplo = "lower",
    transpose: bool = False, math: str = "fp32", stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """alpha · a aᵀ + beta · out, or of aᵀ a where `transpose`: of the result the triangle `uplo` alone.

    a    (n, k), or (k, n) where `transpose`; float32 or complex64. alpha and beta may be complex where a is.
    out  (n, n), of which the other triangle stays; in a new result that is 0.

    >>> import numpy as np, kernelwright as kw
    >>> kw.syrk(np.array([[1, 2], [3, 4]], dtype=np.float32))
    array([[ 5.,  0.],
           [11., 25.]], dtype=float32)
    """
    return _core.syrk(alpha, a, beta, out, _is_second("uplo", uplo, "lower", "upper"), transpose, math, stream)


def herk(
    a: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, uplo: Uplo = "lower", transpose: bool = False,
    math: str = "fp32", stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """alpha · a aᴴ + beta · out, or of aᴴ a where `transpose`: of the Hermitian result the triangle `uplo` alone.

    a    (n, k), or (k, n) where `transpose`; complex64. Where it lies by rows and out by columns, or the other way, it
         is copied, with a CopyWarning. Of a float32 a this is `syrk`.
    out  (n, n), of which the other triangle stays; in a new result that is 0. The imaginary parts on its diagonal are
         not read, and become 0.

    >>> import numpy as np, kernelwright as kw
    >>> kw.herk(np.array([[1, 2j]], dtype=np.complex64))
    array([[5.+0.j]], dtype=complex64)
    """
    return _core.herk(alpha, a, beta, out, _is_second("uplo", uplo, "lower", "upper"), transpose, math, stream)


def symm(
    a: Any, b: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, uplo: Uplo = "lower", side: Side = "left",
    math: str = "fp32", stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """alpha · a b + beta · out, or of b a where `side` is "right"; a is symmetric.

    a       (m, m), or (n, n) on the right.
    b, out  (m, n).

    >>> import numpy as np, kernelwright as kw
    >>> kw.symm(np.array([[1, 9], [3, 4]], dtype=np.float32), np.eye(2, dtype=np.float32))
    array([[1., 3.],
           [3., 4.]], dtype=float32)
    """
    upper, right = _is_second("uplo", uplo, "lower", "upper"), _is_second("side", side, "left", "right")
    return _core.symm(alpha, a, b, beta, out, upper, right, math, stream)


def trmm(
    a: Any, b: Any, *, alpha: float = 1.0, out: Any = None, uplo: Uplo = "lower", side: Side = "left",
    transpose: bool = False, unit_diagonal: bool = False, math: str = "fp32", stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """alpha · a b, or alpha · b a where `side` is "right"; a is triangular, or its transpose where `transpose`.

    a              (m, m), or (n, n) on the right; with `unit_diagonal` its diagonal counts as 1 and is not read.
    b, out         (m, n); out may be b.

    >>> import numpy as np, kernelwright as kw
    >>> kw.trmm(np.array([[1, 9], [3, 4]], dtype=np.float32), np.eye(2, dtype=np.float32))
    array([[1., 0.],
           [3., 4.]], dtype=float32)
    """
    upper, right = _is_second("uplo", uplo, "lower", "upper"), _is_second("side", side, "left", "right")
    return _core.trmm(alpha, a, b, out, upper, transpose, right, unit_diagonal, math, stream)


def trsm(
    a: Any, b: Any, *, alpha: complex = 1.0, out: Any = None, uplo: Uplo = "lower", side: Side = "left",
    transpose: bool = False, conjugate: bool = False, unit_diagonal: bool = False, math: str = "fp32",
    stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """The x of a x = alpha · b, or of x a = alpha · b where `side` is "right"; arguments as in `trmm`.

    a and b are both float32 or both complex64, of which alpha may be complex too. With `conjugate`, which goes with
    `transpose`, the system is that of aᴴ; where a lies by rows and out by columns, or the other way, a is then copied,
    with a CopyWarning.

    >>> import numpy as np, kernelwright as kw
    >>> kw.trsm(np.array([[1, 9], [3, 4]], dtype=np.float32), np.array([[1], [7]], dtype=np.float32))
    array([[1.],
           [1.]], dtype=float32)
    """
    upper, right = _is_second("uplo", uplo, "lower", "upper"), _is_second("side", side, "left", "right")
    return _core.trsm(alpha, a, b, out, upper, transpose, conjugate, right, unit_diagonal, math, stream)
