"""torch.ops.kernelwright.matmul: registered in C++ (_torch), here with shapes for tracing and with gradients."""

import ctypes
from pathlib import Path
from typing import Optional

import torch

from .. import _core
from .._errors import InvalidArgumentError

_ACTIVATIONS = {None: 0, "relu": 1, "gelu_tanh": 2, "gelu": 3}
_MATHS = {"fp32": 0, "fp32_split": 1}


def _load():
    """The operator, and with it the contexts that all of the package shares."""
    file = Path(__file__).parent.parent / "_torch.so"
    if not file.exists():
        raise ImportError("this build of kernelwright has no operators for PyTorch: build it with KW_TORCH_INCLUDE")
    if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 10):
        raise ImportError(f"kernelwright.torch takes PyTorch 2.10 or later, here is {torch.__version__}")
    torch.ops.load_library(str(file))
    library = ctypes.CDLL(str(file))
    library.kernelwright_torch_connect.argtypes = [ctypes.c_void_p]
    library.kernelwright_torch_connect(_core.service())


_load()
_OPERATOR = torch.ops.kernelwright.matmul.default


@torch.library.register_fake("kernelwright::matmul")
def _fake(a, b, bias=None, activation=0, math=0):
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a is {tuple(a.shape)} and b is {tuple(b.shape)}")
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]))


def _setup(ctx, inputs, output):
    a, b, bias, activation, math = inputs
    keeps = [a, b]
    if activation == 1:
        keeps.append(output)  # relu's slope follows from its result
    elif activation > 1:
        keeps.append(bias)
    ctx.save_for_backward(*keeps)
    ctx.has_bias, ctx.activation, ctx.math = bias is not None, activation, math


def _backward(ctx, gradient):
    a, b = ctx.saved_tensors[:2]
    math = ctx.math
    if ctx.activation == 1:
        gradient = gradient * (ctx.saved_tensors[2] > 0)
    elif ctx.activation > 1:  # what it was applied to is computed again, in place of being kept
        before = _OPERATOR(a, b, ctx.saved_tensors[2], 0, math)
        how = "tanh" if ctx.activation == 2 else "none"
        gradient = torch.ops.aten.gelu_backward(gradient, before, approximate=how)
    of_a = of_b = of_bias = None
    if ctx.needs_input_grad[0]:
        of_a = _OPERATOR(gradient, b.mT, None, 0, math).sum_to_size(a.shape)
    if ctx.needs_input_grad[1]:
        if b.dim() == 2:  # one b for all: one product over all rows
            rows, gradients = a.reshape(-1, a.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
            if rows.shape[0] == gradients.shape[0]:
                of_b = _OPERATOR(rows.mT, gradients, None, 0, math)
        if of_b is None:
            of_b = _OPERATOR(a.mT, gradient, None, 0, math).sum_to_size(b.shape)
    if ctx.has_bias and ctx.needs_input_grad[2]:
        of_bias = gradient.sum(dim=tuple(range(gradient.dim() - 1)))
    return of_a, of_b, of_bias, None, None


torch.library.register_autograd("kernelwright::matmul", _backward, setup_context=_setup)


def _number(table, name, value):
    if value not in table:
        raise InvalidArgumentError(f"{name} is {value!r}: pass one of {', '.join(map(repr, table))}")
    return table[value]


_TENSORS = (torch.Tensor, torch.nn.Parameter)
_is_compiling = torch.compiler.is_compiling
_transforms = torch._C._functorch.peek_interpreter_stack
_modes = torch._C._len_torch_dispatch_stack


def _is_plain(a, b, bias):
    """Whether nobody but this call has to know of it: no gradient, no tracing, no transform, no mode, no subclass."""
    if type(a) not in _TENSORS or type(b) not in _TENSORS or not (bias is None or type(bias) in _TENSORS):
        return False
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or (bias is not None and bias.requires_grad)):
        return False
    return not _is_compiling() and _transforms() is None and _modes() == 0


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
    if _is_plain(a, b, bias):  # past the dispatcher, whose Python part takes longer than the call
        return _core.matmul(a, b, None, bias, activation, math, None, True)
    one_row, one_column = a.dim() == 1, b.dim() == 1
    if one_row:
        a = a.unsqueeze(0)
    if one_column:
        b = b.unsqueeze(1)
    c = _OPERATOR(a, b, bias, _number(_ACTIVATIONS, "activation", activation), _number(_MATHS, "math", math))
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
