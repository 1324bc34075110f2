"""PyTorch's own products, served by Kernelwright while `enable` is on.

Each operator of `_SERVED` has its kernel for CUDA replaced in PyTorch's dispatcher, below autograd, so gradients are
PyTorch's formulas whose products are served in turn. A call that is not served goes to the kernel that was there.
"""

import warnings

import torch

from .. import _core
from .._errors import InvalidArgumentError

_FLOAT32 = torch.float32
_precision = torch._C._get_fp32_precision_getter


class _Setting:
    """What `enable` asked for, the last one on top."""

    def __init__(self, math, smallest):
        self.math = math
        self.smallest = smallest


class _Override:
    """The replaced kernels of one dispatch key."""

    def __init__(self, key):
        self.key = key
        self.keyset = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is what was asked for
            for name, serve in _SERVED.items():
                original = torch.library.get_kernel(f"aten::{name}", key)
                self.library.impl(name, self.kernel(original, serve), key, allow_override=True)

    def kernel(self, original, serve):
        keyset = self.keyset

        def replaced(*arguments, **keywords):
            result = serve(*arguments, **keywords)
            if result is not None:
                return result
            return original.call_boxed(keyset, *arguments, **keywords)

        return replaced

    def remove(self):
        self.library._destroy()


_settings = []  # of all calls of enable that are on
_overrides = []
_now = None  # the setting that counts; a call that is under way when the last one ends still finds it


def _is_product(a, b, dimensions, work):
    """Whether these are taken: FP32 in memory of the same device, as large as asked, and no wish for TF32."""
    return (
        a.dtype is _FLOAT32
        and b.dtype is _FLOAT32
        and a.dim() == b.dim() == dimensions
        and a.device == b.device
        and work >= _now.smallest
        and _precision("cuda", "matmul") != "tf32"
    )


def _work(a, b):
    """Multiplications; 0 where the sizes do not fit, so that PyTorch says so, or where there is nothing to do."""
    if a.shape[-1] != b.shape[-2] or (a.dim() > 2 and a.shape[0] != b.shape[0]):
        return 0
    return a.numel() * b.shape[-1]


def _fits(out, shape):
    return out is None or (out.dtype is _FLOAT32 and out.shape == shape and not out.is_conj() and not out.is_neg())


def _compute(a, b, out, alpha=1.0, beta=0.0, source=None, bias=None, bias_of_rows=False, activation=None):
    try:
        return _core.gemm(
            alpha, a, b, beta, out, source, bias, bias_of_rows, activation, _now.math, None, True
        )
    except (ValueError, NotImplementedError):
        return None  # nothing was written: PyTorch computes it, or says what is wrong


def _mm(a, b, *, out=None):
    work = _work(a, b) if a.dim() == b.dim() == 2 else 0
    if work == 0 or not _is_product(a, b, 2, work) or not _fits(out, (a.shape[0], b.shape[1])):
        return None
    return _compute(a, b, out)


def _bmm(a, b, *, out=None):
    work = _work(a, b) if a.dim() == b.dim() == 3 else 0
    if work == 0 or not _is_product(a, b, 3, work) or not _fits(out, (a.shape[0], a.shape[1], b.shape[2])):
        return None
    return _compute(a, b, out)


def _added(c, a, b, dimensions, beta, alpha, out, activation=None):
    """alpha · a @ b + beta · c, where c is broadcast: by rows it is a bias, whole it is a source."""
    work = _work(a, b) if a.dim() == b.dim() == dimensions else 0
    if work == 0 or not _is_product(a, b, dimensions, work) or c.dtype is not _FLOAT32 or c.device != a.device:
        return None
    shape = (*a.shape[:-1], b.shape[-1])
    if not _fits(out, shape) or isinstance(alpha, complex) or isinstance(beta, complex):
        return None
    if beta == 0:
        return _compute(a, b, out, alpha, activation=activation)
    if c.shape == shape and not (dimensions == 2 and shape[0] > 1 and c.stride(0) == 0):
        if out is not None and c.data_ptr() == out.data_ptr() and c.stride() == out.stride():
            return _compute(a, b, out, alpha, beta, activation=activation)
        return _compute(a, b, out, alpha, beta, source=c, activation=activation)
    if beta == 1 and c.dim() <= 2 and c.shape[-1:] == shape[-1:] and (c.dim() == 1 or c.shape[0] == 1 or c.stride(0) == 0):
        row = c if c.dim() == 1 else c[0]
        return _compute(a, b, out, alpha, bias=row, activation=activation)
    return None


def _addmm(c, a, b, *, beta=1, alpha=1, out=None):
    return _added(c, a, b, 2, beta, alpha, out)


def _baddbmm(c, a, b, *, beta=1, alpha=1, out=None):
    return _added(c, a, b, 3, beta, alpha, out)


def _addmm_activation(c, a, b, *, beta=1, alpha=1, use_gelu=False, out=None):
    return _added(c, a, b, 2, beta, alpha, out, "gelu_tanh" if use_gelu else "relu")


_SERVED = {
    "mm": _mm,
    "mm.out": _mm,
    "bmm": _bmm,
    "bmm.out": _bmm,
    "addmm": _addmm,
    "addmm.out": _addmm,
    "baddbmm": _baddbmm,
    "baddbmm.out": _baddbmm,
    "_addmm_activation": _addmm_activation,
}


class enable:
    """PyTorch's float32 products on CUDA are computed by Kernelwright, from here on or within a `with`.

        kernelwright.torch.enable()             # until .disable() of what it returns
        with kernelwright.torch.enable(math="fp32"): ...

    Served are torch.mm, addmm, bmm, baddbmm, their forms with out=, and what PyTorch makes of them: Linear (its bias
    fused), matmul, einsum, cdist, attention's plain form, gradients, and models that torch.compile compiled. Calls of
    other types, so all under autocast, go where they went; so does every call while PyTorch may use TF32
    (torch.backends.cuda.matmul.fp32_precision).

    math      "fp32_split" (no less accurate than FP32) or "fp32".
    smallest  Products of fewer multiplications, m·n·k times the batch, stay PyTorch's.
    devices   Of which type: ("cuda",), or with "cpu" for tests.

    For all threads of the process; within another `enable` the inner one counts. On leaving the last one all kernels
    are as they were.
    """

    def __init__(self, math: str = "fp32_split", *, smallest: int = 0, devices=("cuda",)):
        if math not in ("fp32", "fp32_split"):
            raise InvalidArgumentError(f"math is {math!r}: pass 'fp32' or 'fp32_split'")
        unknown = set(devices) - {"cuda", "cpu"}
        if unknown:
            raise InvalidArgumentError(f"devices has {', '.join(sorted(unknown))}: pass 'cuda' or 'cpu'")
        self._setting = _Setting(math, smallest)
        global _now
        _settings.append(self._setting)
        _now = self._setting
        for device in devices:
            key = device.upper()
            if all(override.key != key for override in _overrides):
                _overrides.append(_Override(key))

    def disable(self) -> None:
        """Ends what this call began; a second time it does nothing."""
        if self._setting not in _settings:
            return
        global _now
        _settings.remove(self._setting)
        if _settings:
            _now = _settings[-1]
            return
        for override in _overrides:
            override.remove()
        _overrides.clear()

    def __enter__(self) -> "enable":
        return self

    def __exit__(self, *_) -> None:
        self.disable()


def is_enabled() -> bool:
    """Whether PyTorch's products are served."""
    return bool(_settings)
