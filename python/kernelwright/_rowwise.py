"""Row-wise operations: softmax and norms along a dimension.

Elements are float16, bfloat16 (PyTorch) or float32, of all arrays of a call the same; arithmetic is that of float32,
sums are carried in double. A NaN in a row makes the whole row NaN, as does, for softmax, +infinity or a row of nothing
but -infinity.

out       An array of a's size and type; may be a itself.
stream    A cudaStream_t as an int; by default that of the array's package.

InvalidArgumentError: sizes that do not fit, arrays on different devices, an out that overlaps a otherwise than by
being it. TypeError: elements of other types.
"""

from typing import Any, Optional

from . import _core


def softmax(a: Any, axis: int = -1, *, out: Any = None, stream: Optional[int] = None) -> Any:
    """exp(a - max) / sum(exp(a - max)) along `axis`; -infinity among numbers gives 0.

    >>> import numpy as np, kernelwright as kw
    >>> kw.softmax(np.array([[0, 0], [0, -np.inf]], dtype=np.float32))
    array([[0.5, 0.5],
           [1. , 0. ]], dtype=float32)
    """
    return _core.rowwise("softmax", a, axis, None, None, None, None, 0.0, out, stream)


def log_softmax(a: Any, axis: int = -1, *, out: Any = None, stream: Optional[int] = None) -> Any:
    """a - max - log(sum(exp(a - max))) along `axis`.

    >>> import numpy as np, kernelwright as kw
    >>> kw.log_softmax(np.zeros((1, 4), np.float32)).round(3)
    array([[-1.386, -1.386, -1.386, -1.386]], dtype=float32)
    """
    return _core.rowwise("log_softmax", a, axis, None, None, None, None, 0.0, out, stream)


def layer_norm(
    a: Any,
    gamma: Any = None,
    beta: Any = None,
    *,
    bias: Any = None,
    residual: Any = None,
    epsilon: float = 1e-5,
    out: Any = None,
    stream: Optional[int] = None,
) -> Any:
    """(v - mean) / sqrt(variance + epsilon) · gamma + beta along the last dimension, of v = a + bias + residual.

    gamma, beta, bias  Vectors of a row's length; None: 1, 0, 0.
    residual           An array of a's size.

    >>> import numpy as np, kernelwright as kw
    >>> kw.layer_norm(np.array([[1, 2, 3, 4]], dtype=np.float32), beta=np.ones(4, np.float32)).round(3)
    array([[-0.342,  0.553,  1.447,  2.342]], dtype=float32)
    >>> kw.layer_norm(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    Traceback (most recent call last):
        ...
    kernelwright._errors.InvalidArgumentError: gamma has 2 elements in 1 dimensions: pass a vector of 3, a row's length
    """
    return _core.rowwise("layer_norm", a, -1, gamma, beta, bias, residual, epsilon, out, stream)


def rms_norm(
    a: Any,
    gamma: Any = None,
    *,
    bias: Any = None,
    residual: Any = None,
    epsilon: float = 1e-5,
    out: Any = None,
    stream: Optional[int] = None,
) -> Any:
    """v / sqrt(mean(v²) + epsilon) · gamma along the last dimension, of v = a + bias + residual, as `layer_norm` has it.

    >>> import numpy as np, kernelwright as kw
    >>> kw.rms_norm(np.array([[3, 4]], dtype=np.float32), epsilon=0).round(3)
    array([[0.849, 1.131]], dtype=float32)
    """
    return _core.rowwise("rms_norm", a, -1, gamma, None, bias, residual, epsilon, out, stream)
