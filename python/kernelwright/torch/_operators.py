"""torch.ops.kernelwright.matmul: its kernels, its shapes for tracing, its gradients, vmap.

The operators are registered in C++ (_torch.so) where the build and PyTorch allow it, else here, for the same calls and
some microseconds more each.
"""

import ctypes
import warnings
from pathlib import Path
from typing import Optional

import torch

from .. import _core
from .._errors import InvalidArgumentError

_ACTIVATIONS = {None: 0, "relu": 1, "gelu_tanh": 2, "gelu": 3}
_NAMES = {number: name for name, number in _ACTIVATIONS.items()}
_MATHS = {"fp32": 0, "fp32_split": 1}
_MATH_NAMES = ("fp32", "fp32_split")
_OLDEST = (2, 10)  # PyTorch that has the stable ABI which _torch.so is built for


def _load_compiled() -> Optional[str]:
    """Loads _torch.so and lets it share the package's contexts; why not, where it cannot be."""
    file = Path(__file__).parent.parent / "_torch.so"
    if not file.exists():
        return "this build of kernelwright has no _torch.so (KW_TORCH_INCLUDE)"
    if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < _OLDEST:
        return f"PyTorch is {torch.__version__}, and the compiled ones take {_OLDEST[0]}.{_OLDEST[1]} or later"
    try:
        torch.ops.load_library(str(file))
    except OSError as error:
        return f"_torch.so cannot be loaded: {error}"
    library = ctypes.CDLL(str(file))
    library.kernelwright_torch_connect.argtypes = [ctypes.c_void_p]
    library.kernelwright_torch_connect(_core.service())
    return None


def _compute(a, b, bias=None, activation=0, math=0):
    return _core.matmul(a, b, None, bias, _NAMES[activation], _MATH_NAMES[math], None, True)


def _register_here():
    """The operator in Python; the library must live as long as the process."""
    library = torch.library.Library("kernelwright", "DEF")
    library.define("matmul(Tensor a, Tensor b, Tensor? bias=None, int activation=0, int math=0) -> Tensor")
    for key in ("CPU", "CUDA"):
        library.impl("matmul", _compute, key)
    return library


_why_python = _load_compiled()
if _why_python is not None:
    _library = _register_here()
    warnings.warn(f"kernelwright.torch: operators are Python's: {_why_python}", RuntimeWarning, stacklevel=3)
_OPERATOR = torch.ops.kernelwright.matmul.default
# Of the compiled ones the kernel of `matmul` for autograd chooses between the other two.
_ALL = ("matmul",) if _why_python else ("matmul", "matmul_no_gradient", "matmul_with_gradient")


def _fake(a, b, bias=None, activation=0, math=0):
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a is {tuple(a.shape)} and b is {tuple(b.shape)}")
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]))


def _vmap(info, in_dims, a, b, bias=None, activation=0, math=0):
    """One product with a batch dimension more; a bias that has one is added afterwards."""
    dims = max(
        tensor.dim() - (dim is not None) for tensor, dim in ((a, in_dims[0]), (b, in_dims[1]))
    )

    def lay(tensor, dim):
        if dim is None:
            return tensor
        tensor = tensor.movedim(dim, 0)
        return tensor.reshape(tensor.shape[0], *[1] * (dims + 1 - tensor.dim()), *tensor.shape[1:])

    a, b = lay(a, in_dims[0]), lay(b, in_dims[1])
    math = _MATH_NAMES[math]
    if bias is None or in_dims[2] is None:
        return matmul(a, b, bias, activation=_NAMES[activation], math=math), 0
    x = matmul(a, b, math=math)
    bias = bias.movedim(in_dims[2], 0)
    if in_dims[0] is None and in_dims[1] is None:
        x = x.unsqueeze(0)
    x = x + bias.reshape(bias.shape[0], *[1] * (x.dim() - 2), bias.shape[1])
    return _activated(x, activation), 0


def _activated(x, activation):
    if activation == 1:
        return torch.relu(x)
    if activation > 1:
        return torch.nn.functional.gelu(x, approximate="tanh" if activation == 2 else "none")
    return x


for _name in _ALL:
    torch.library.register_fake(f"kernelwright::{_name}")(_fake)
    torch.library.register_vmap(f"kernelwright::{_name}", _vmap)


def _keep(ctx, inputs, output):
    a, b, bias, activation, math = inputs
    if activation == 1:
        ctx.save_for_backward(a, b, output)  # relu's slope follows from its result
    elif activation > 1:
        ctx.save_for_backward(a, b, bias)
    else:
        ctx.save_for_backward(a, b)
    ctx.has_bias, ctx.activation, ctx.math = bias is not None, activation, _MATH_NAMES[math]


def _summed(x, like):
    return x if x.shape == like.shape else x.sum_to_size(like.shape)


def _backward(ctx, gradient):
    a, b, *kept = ctx.saved_tensors
    math = ctx.math
    if ctx.activation == 1:
        gradient = gradient * (kept[0] > 0)
    elif ctx.activation > 1:  # what it was applied to is computed again, in place of being kept
        before = matmul(a, b, kept[0], math=math)
        how = "tanh" if ctx.activation == 2 else "none"
        gradient = torch.ops.aten.gelu_backward(gradient, before, approximate=how)
    of_a = of_b = of_bias = None
    if ctx.needs_input_grad[0]:
        of_a = _summed(matmul(gradient, b.mT, math=math), a)
    if ctx.needs_input_grad[1]:
        if b.dim() == 2 and a.dim() > 2:  # one b for all: one product over all rows
            rows, gradients = a.reshape(-1, a.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
            of_b = matmul(rows.mT, gradients, math=math)
        else:
            of_b = _summed(matmul(a.mT, gradient, math=math), b)
    if ctx.has_bias and ctx.needs_input_grad[2]:
        of_bias = gradient.sum(dim=tuple(range(gradient.dim() - 1)))
    return of_a, of_b, of_bias, None, None


torch.library.register_autograd(f"kernelwright::{_ALL[-1]}", _backward, setup_context=_keep)


class _Product(torch.autograd.Function):
    """What the operator records, past the dispatcher."""

    @staticmethod
    def forward(ctx, a, b, bias, activation, math):
        output = _compute(a, b, bias, activation, math)
        _keep(ctx, (a, b, bias, activation, math), output)
        return output

    backward = staticmethod(_backward)


class _TransformedProduct(torch.autograd.Function):
    """The same for functions over functions (torch.func), in the form that they take, which costs a call much more."""

    @staticmethod
    def forward(a, b, bias, activation, math):
        compute = _compute if _is_plain(a, b, bias) else _OPERATOR
        return compute(a, b, bias, activation, math)

    setup_context = staticmethod(_keep)
    backward = staticmethod(_backward)
    vmap = staticmethod(_vmap)


def _number(table, name, value):
    if value not in table:
        raise InvalidArgumentError(f"{name} is {value!r}: pass one of {', '.join(map(repr, table))}")
    return table[value]


_TENSORS = (torch.Tensor, torch.nn.Parameter)
_is_compiling = torch.compiler.is_compiling
_transforms = torch._C._functorch.peek_interpreter_stack
_modes = torch._C._len_torch_dispatch_stack


def _is_plain(a, b, bias):
    """Whether nobody but autograd has to know of a call: no tracing, no transform, no mode, no subclass."""
    if type(a) not in _TENSORS or type(b) not in _TENSORS or not (bias is None or type(bias) in _TENSORS):
        return False
    return not _is_compiling() and _transforms() is None and _modes() == 0


def _is_recorded(a, b, bias):
    return torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or (bias is not None and bias.requires_grad))


def _is_transformed():
    return not _is_compiling() and _transforms() is not None


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    *,
    activation: Optional[str] = None,
    math: str = "fp32_split",
) -> torch.Tensor:
    """activation(a @ b + bias), as torch.matmul has it, of float32 tensors on one device, with gradients.

    a           (..., m, k), or a vector of k elements.
    b           (..., k, n), or a vector of k elements.
    bias        n elements.
    activation  None, "relu", "gelu" (by erf) or "gelu_tanh".
    math        "fp32_split" or "fp32"; the gradients' products take the same.

    Runs on PyTorch's current stream. Under autocast it computes in float32, as its inputs must be.
    RuntimeError (mostly InvalidArgumentError), TypeError: sizes, types or devices that do not fit.
    """
    plain = _is_plain(a, b, bias)
    if plain and not _is_recorded(a, b, bias):  # past the dispatcher, whose Python part takes longer than the call
        return _core.matmul(a, b, None, bias, activation, math, None, True)
    activation, math = _number(_ACTIVATIONS, "activation", activation), _number(_MATHS, "math", math)
    one_row, one_column = a.dim() == 1, b.dim() == 1
    if one_row:
        a = a.unsqueeze(0)
    if one_column:
        b = b.unsqueeze(1)
    call = _Product.apply if plain else _TransformedProduct.apply if _is_transformed() else _OPERATOR
    c = call(a, b, bias, activation, math)
    if one_column:
        c = c.squeeze(-1)
    if one_row:
        c = c.squeeze(-1 if one_column else -2)
    return c


def linear(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    *,
    activation: Optional[str] = None,
    math: str = "fp32_split",
) -> torch.Tensor:
    """activation(input @ weight.T + bias), as torch.nn.functional.linear has it; arguments as in `matmul`."""
    return matmul(input, weight.mT, bias, activation=activation, math=math)
