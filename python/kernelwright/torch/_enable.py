"""PyTorch's own products, served by Kernelwright while `enable` is on.

Each operator of `_SERVED` has its kernel for CUDA replaced in PyTorch's dispatcher, below autograd, so gradients are
PyTorch's formulas whose products are served in turn. A call that is not served goes to the kernel that was there.
"""

import warnings
from typing import Any, Dict, List, Optional

import torch

from .. import _core
from .._core import attention as _attention
from .._errors import InvalidArgumentError
from . import _inductor

_precision = torch._C._get_fp32_precision_getter


class _Setting:
    """What `enable` asked for, the last one on top."""

    def __init__(self, math, smallest):
        self.math = math
        self.smallest = smallest
        self.taken = self.left = 0  # calls so far


class _Override:
    """The replaced kernels of one dispatch key."""

    def __init__(self, key):
        self.key = key
        self.keyset = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is what was asked for
            for name, serve in {**_SERVED, **_ATTENTIONS[key]}.items():
                original = torch.library.get_kernel(f"aten::{name}", key)
                self.library.impl(name, self.kernel(original, serve), key, allow_override=True)

    def kernel(self, original, serve):
        keyset = self.keyset

        def replaced(*arguments, **keywords):
            result = serve(*arguments, **keywords)
            if result is not None:
                _now.taken += 1
                return result
            _now.left += 1
            return original.call_boxed(keyset, *arguments, **keywords)

        return replaced

    def remove(self):
        self.library._destroy()


_settings: List["_Setting"] = []  # of all calls of enable that are on
_overrides: List["_Override"] = []
_now: Any = None  # the setting that counts; a call that is under way when the last one ends still finds it


# Each gets what its operator gets; None: PyTorch's own kernel shall do it. The module decides by types and sizes.


def _wishes_tf32():
    return _precision("cuda", "matmul") == "tf32"


def _mm(a, b, *, out=None):
    if _wishes_tf32():
        return None
    return _core.serve(a, b, None, out, 2, 1.0, 0.0, 0, _now.math, _now.smallest)


def _bmm(a, b, *, out=None):
    if _wishes_tf32():
        return None
    return _core.serve(a, b, None, out, 3, 1.0, 0.0, 0, _now.math, _now.smallest)


def _added(c, a, b, dimensions, beta, alpha, out, activation=0):
    if type(alpha) is complex or type(beta) is complex or _wishes_tf32():
        return None
    return _core.serve(a, b, c, out, dimensions, alpha, beta, activation, _now.math, _now.smallest)


def _addmm(c, a, b, *, beta=1, alpha=1, out=None):
    return _added(c, a, b, 2, beta, alpha, out)


def _baddbmm(c, a, b, *, beta=1, alpha=1, out=None):
    return _added(c, a, b, 3, beta, alpha, out)


def _addmm_activation(c, a, b, *, beta=1, alpha=1, use_gelu=False):
    gelu = 2 if a.is_cuda else 3  # as PyTorch's own: by tanh on CUDA, by erf on the CPU
    return _added(c, a, b, 2, beta, alpha, None, gelu if use_gelu else 1)


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

_MATHS = {"fp32": 0, "fp32_split": 1}
_MATH_NAMES = ("fp32", "fp32_split")


def _is_plain_heads(q, k, v, mask):
    """Whether kernelwright.attention takes these as they are, without a copy."""
    if any(x.dtype != torch.float32 or x.dim() != 4 or x.device != q.device for x in (q, k, v)):
        return False
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or not 1 <= q.shape[3] <= 256:
        return False
    if k.shape[1] == 0 or q.shape[1] % k.shape[1] != 0 or q.numel() == 0 or k.numel() == 0:
        return False
    if any(x.stride(3) != 1 or (x.shape[2] > 1 and x.stride(2) < x.shape[3]) for x in (q, k, v)):
        return False
    if mask is None:
        return True
    full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    return (
        mask.dtype == torch.float32 and 2 <= mask.dim() <= 4 and mask.device == q.device and mask.stride(-1) == 1
        and mask.shape[-1] == full[3] and all(mine in (1, whole) for mine, whole in zip(mask.shape, full[4 - mask.dim() :]))
    )  # fmt: skip


def _attend(q, k, v, mask, is_causal, scale):
    """The result in PyTorch's layout, token by token; None where it is PyTorch's."""
    if _wishes_tf32() or not _is_plain_heads(q, k, v, mask) or (is_causal and mask is not None):
        return None
    batch, heads, queries, dim = q.shape
    if batch * heads * queries * k.shape[2] * dim < _now.smallest:
        return None
    out = torch.empty((batch, queries, heads, dim), dtype=q.dtype, device=q.device).transpose(1, 2)
    try:
        return _attention(q, k, v, out, mask, scale, int(is_causal), _MATH_NAMES[_now.math], None, True)
    except InvalidArgumentError:  # before anything was written
        return None


def _efficient_attention(q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    """What PyTorch takes for float32 on CUDA. With `compute_log_sumexp` a gradient will ask for what is not made here."""
    o = None if compute_log_sumexp or dropout_p != 0 else _attend(q, k, v, attn_bias, is_causal, scale)
    if o is None:
        return None
    seed = torch.empty((), dtype=torch.int64, device=q.device)
    return o, q.new_empty((q.shape[0], q.shape[1], 0)), seed, torch.empty_like(seed)


def _flash_attention_for_cpu(q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """What PyTorch takes on the CPU, where only the grad mode tells whether a gradient may follow."""
    o = None if torch.is_grad_enabled() or dropout_p != 0 else _attend(q, k, v, attn_mask, is_causal, scale)
    return None if o is None else (o, q.new_empty((q.shape[0], q.shape[2], q.shape[1])).transpose(1, 2))


_ATTENTIONS = {
    "CUDA": {"_scaled_dot_product_efficient_attention": _efficient_attention},
    "CPU": {"_scaled_dot_product_flash_attention_for_cpu": _flash_attention_for_cpu},
}
_hooks: List["_inductor.Hook"] = []  # at most one


def _math_now():
    """The arithmetic of calls that are served now; None: none is."""
    return _now.math if _settings and not _wishes_tf32() else None


def kernelwright_mm(a, b, *, out=None):
    """What Inductor may choose for a product of matrices; what is not served is PyTorch's."""
    on_cuda = _settings and a.is_cuda and not _wishes_tf32()
    served = _core.serve(a, b, None, out, 2, 1.0, 0.0, 0, _now.math, _now.smallest) if on_cuda else None
    return torch.mm(a, b, out=out) if served is None else served


class enable:
    """PyTorch's float32 products on CUDA are computed by Kernelwright, from here on or within a `with`.

        kernelwright.torch.enable()             # until .disable() of what it returns
        with kernelwright.torch.enable(math="fp32"): ...

    Served are torch.mm, addmm, bmm, baddbmm, their forms with out=, and what PyTorch makes of them: Linear (its bias
    fused), matmul, einsum, cdist, attention's plain form, gradients, and models that torch.compile compiled;
    scaled_dot_product_attention where no gradient is needed, and no dropout asked for. Calls of other types, so all under autocast, go where they went; so does every call while PyTorch may use TF32
    (torch.backends.cuda.matmul.fp32_precision).

    math      "fp32_split" (no less accurate than FP32) or "fp32".
    smallest  Products of fewer multiplications, m·n·k times the batch, stay PyTorch's.
    devices   Of which type: ("cuda",), or with "cpu" for tests.
    inductor  Whether torch.compile may choose Kernelwright's product where it tunes products (max-autotune), and puts
              relu and gelu into the products before them in graphs without gradients, which keep that. None: where
              PyTorch's Inductor is loaded already; True loads it, which takes seconds.

    For all threads of the process; within another `enable` the inner one counts. On leaving the last one all kernels
    are as they were.
    """

    def __init__(self, math: str = "fp32_split", *, smallest: int = 0, devices=("cuda",), inductor: Optional[bool] = None):
        if math not in _MATHS:
            raise InvalidArgumentError(f"math is {math!r}: pass 'fp32' or 'fp32_split'")
        unknown = set(devices) - {"cuda", "cpu"}
        if unknown:
            raise InvalidArgumentError(f"devices has {', '.join(sorted(unknown))}: pass 'cuda' or 'cpu'")
        self._setting = _Setting(_MATHS[math], smallest)
        global _now
        _settings.append(self._setting)
        _now = self._setting
        for device in devices:
            key = device.upper()
            if all(override.key != key for override in _overrides):
                _overrides.append(_Override(key))
        if not _hooks and (_inductor.is_loaded() if inductor is None else inductor):
            _hooks.append(_inductor.Hook(kernelwright_mm, _math_now))

    def served(self) -> Dict[str, int]:
        """How many calls were computed by Kernelwright, and how many by PyTorch's own kernels, while this one counted."""
        return {"taken": self._setting.taken, "left": self._setting.left}

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
        while _hooks:
            _hooks.pop().remove()

    def __enter__(self) -> "enable":
        return self

    def __exit__(self, *_) -> None:
        self.disable()


def is_enabled() -> bool:
    """Whether PyTorch's products are served."""
    return bool(_settings)
