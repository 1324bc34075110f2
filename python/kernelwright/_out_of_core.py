"""Products of matrices in host memory that are too large for the device that computes them."""

from typing import Any, Optional

from . import _core
from ._devices import Device, _ordinal
from ._errors import InvalidArgumentError


def matmul_out_of_core(
    a: Any, b: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, device_memory: Optional[int] = None,
    device: Optional[Device] = None, math: str = "fp32",
) -> Any:  # fmt: skip
    """alpha · a @ b + beta · out of float32 matrices in host memory, computed on a device in tiles.

    a, b, out      (m, k), (k, n), (m, n), of any size, pinned or not; `out` shares no element with a or b. Without it
                   the result is a new matrix of a's package.
    device_memory  Bytes of the device that a call may take for tiles; None: three quarters of what it has.
    device         Where it is computed; None: the first of `devices()`.
    math           As in `matmul`.

    Returns when the result is written. InvalidArgumentError: sizes that do not fit, arrays on a GPU, too little
    `device_memory` for one tile. TypeError: elements that are not float32. DeviceError: parts of `out` may be written.

    >>> import numpy as np, kernelwright as kw
    >>> a = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> kw.matmul_out_of_core(a, a, device_memory=1 << 20)
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    """
    if device_memory is not None and device_memory <= 0:
        raise InvalidArgumentError(f"device_memory is {device_memory}: pass a positive number of bytes, or None")
    return _core.matmul_out_of_core(alpha, a, b, beta, out, math, device_memory or 0, _ordinal(device))
