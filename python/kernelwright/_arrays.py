"""What the module asks of an array's own package: a dense copy."""

import warnings

from ._errors import CopyWarning


def dense_copy(array, name, order, quiet):
    """A dense copy of `array`, its dimensions in `order` (None: as they are), by its own package."""
    if not quiet:
        warnings.warn(
            f"{name} is copied: its strides are none that a call can express. Pass a dense array, or make this an "
            'error by warnings.simplefilter("error", kernelwright.CopyWarning)',
            CopyWarning,
            stacklevel=3,
        )
    package = type(array).__module__.partition(".")[0]
    if package == "torch":
        array = array.detach()
        return (array if order is None else array.permute(order)).contiguous()
    if package in ("cupy", "numpy"):
        module = __import__(package)
    elif hasattr(array, "__cuda_array_interface__"):
        import cupy as module  # of arrays that only describe themselves, it can make copies
    else:
        import numpy as module
    array = module.asarray(array)
    return module.ascontiguousarray(array if order is None else array.transpose(order))
