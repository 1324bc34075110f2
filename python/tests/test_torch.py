"""kernelwright.torch: operators, gradients, tracing."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import kernelwright as kw  # noqa: E402

kt = pytest.importorskip("kernelwright.torch")

from torch_support import MATHS, torch_device, within  # noqa: E402, F401


def test_arrays_are_tensors(device):
    a, b = torch.randn(30, 40, device=device), torch.randn(20, 40, device=device).t()
    c = kw.matmul(a, b)
    assert type(c) is torch.Tensor and c.device == a.device
    within(c, a.double() @ b.double(), 40)
    assert kw.sum(a, axis=1).device == a.device
    within(kw.sum(a, axis=0), a.double().sum(0), 30)
    half = a.to(torch.bfloat16)
    within(kw.mean(half, axis=1), half.double().mean(1))
    assert torch.equal(kw.max(half, axis=1), half.max(1).values) and kw.argmax(a).item() == a.argmax().item()
    out = torch.empty_like(c)
    assert kw.matmul(a, b, out=out) is out and torch.equal(out, c)
    assert kw.scale_add(2, a, 1).sub(2 * a + 1).abs().max() == 0


def test_gradients_are_not_lost_in_silence(device):
    a = torch.randn(3, 3, device=device, requires_grad=True)
    with pytest.raises(kw.InvalidArgumentError, match="requires a gradient"):
        kw.matmul(a, a)
    kw.matmul(a.detach(), a.detach())


@pytest.mark.parametrize("lay", ["expanded", "strided", "flipped", "channels"])
def test_tensors_that_are_not_dense(device, lay):
    a = {
        "expanded": lambda: torch.randn(1, 16, device=device).expand(12, 16),
        "strided": lambda: torch.randn(12, 32, device=device)[:, ::2],
        "flipped": lambda: torch.randn(12, 16, device=device).flip(0),
        "channels": lambda: torch.randn(12, 4, 2, 2, device=device).to(memory_format=torch.channels_last).flatten(1),
    }[lay]()
    b = torch.randn(16, 7, device=device)
    within(kt.matmul(a, b), a.double() @ b.double(), 16)
    if lay in ("expanded", "strided"):
        with pytest.warns(kw.CopyWarning):
            within(kw.matmul(a, b), a.double() @ b.double(), 16)


CASES = [((5, 4), (4, 3)), ((2, 5, 4), (4, 3)), ((2, 5, 4), (2, 4, 3)), ((2, 1, 5, 4), (3, 4, 3)), ((5, 4), (2, 4, 3)), ((4,), (4, 3)), ((5, 4), (4,)), ((4,), (4,))]


@pytest.mark.parametrize("shapes", CASES)
@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh"])
def test_gradients_beside_float64(device, shapes, math, activation):
    a, b = (torch.randn(shape, device=device, requires_grad=True) for shape in shapes)
    bias = torch.randn(shapes[1][-1], device=device, requires_grad=True) if len(shapes[1]) > 1 else None
    leaves = [x for x in (a, b, bias) if x is not None]
    exact = [x.detach().double().requires_grad_() for x in leaves]
    x = exact[0] @ exact[1] + (exact[2] if bias is not None else 0)
    F = torch.nn.functional
    x = {None: lambda: x, "relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x), "gelu_tanh": lambda: F.gelu(x, approximate="tanh")}[activation]()
    y = kt.matmul(a, b, bias, activation=activation, math=math)
    within(y, x, 4)
    weights = torch.randn_like(y)
    (y * weights).sum().backward()
    (x * weights.double()).sum().backward()
    for ours, theirs in zip(leaves, exact):
        within(ours.grad, theirs.grad, 40)


def test_second_gradients(device):
    a, b = (torch.randn(4, 4, device=device, requires_grad=True) for _ in range(2))
    first = torch.autograd.grad(kt.matmul(a, b).pow(2).sum(), a, create_graph=True)[0]
    first.sum().backward()
    x, y = (t.detach().double().requires_grad_() for t in (a, b))
    torch.autograd.grad((x @ y).pow(2).sum(), x, create_graph=True)[0].sum().backward()
    within(b.grad, y.grad, 64)


def test_opcheck(device):
    a, b = (torch.randn(4, 4, device=device, requires_grad=True) for _ in range(2))
    bias = torch.randn(4, device=device, requires_grad=True)
    for arguments in [(a, b), (a, b, bias, 1, 1), (a, b, bias, 3, 0), (a.expand(3, 4, 4), b)]:
        torch.library.opcheck(torch.ops.kernelwright.matmul.default, arguments)


WITHOUT_COMPILED = """
import sys, warnings
import torch
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import kernelwright.torch as kt
assert [str(one.message) for one in said if "operators are Python's" in str(one.message) and "_torch.so" in str(one.message)], said
a, b = (torch.randn(2, 4, 4, device=sys.argv[1], requires_grad=True) for _ in range(2))
for call in (kt.matmul, torch.ops.kernelwright.matmul):
    a.grad = None
    y = call(a, b)
    assert torch.allclose(y, a @ b, atol=1e-5)
    y.sum().backward()
    assert torch.allclose(a.grad, b.detach().sum(-1).unsqueeze(1).expand_as(a), atol=1e-5)
compiled = torch.compile(lambda a, b: kt.matmul(a, b).sum(), fullgraph=True, backend="aot_eager")
assert torch.allclose(compiled(a, b), (a @ b).sum(), atol=1e-4)
"""


def test_without_compiled_operators(device, tmp_path):
    package = Path(kw.__file__).parent
    there = tmp_path / "kernelwright"
    there.mkdir()
    for file in package.iterdir():
        if file.name != "_torch.so":
            (there / file.name).symlink_to(file.resolve())
    others = [str(folder) for folder in package.parent.glob("kernelwright.libs")]
    # In a build tree the library lies beside the package, where a link does not find it.
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    library = next(Path(word).parent for word in maps if "/libkernelwright" in word)
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *others]), "LD_LIBRARY_PATH": str(library)
    }  # fmt: skip
    subprocess.run([sys.executable, "-B", "-c", WITHOUT_COMPILED, device], env=environment, check=True, timeout=300)


def test_compiled_without_a_break(device):
    weight = torch.randn(6, 8, device=device, requires_grad=True)

    def model(x):
        return kt.linear(x, weight, activation="relu").sum(-1)

    compiled = torch.compile(model, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
    x = torch.randn(5, 8, device=device)
    within(compiled(x), torch.relu(x.double() @ weight.double().t()).sum(-1), 8)
    compiled(x).sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("shape", [((0, 4), (4, 3)), ((3, 0), (0, 4)), ((0, 3, 4), (4, 2)), ((3, 4), (4, 0))])
def test_no_element(device, shape):
    a, b = (torch.randn(s, device=device) for s in shape)
    assert torch.equal(kt.matmul(a, b), a @ b) and torch.equal(kw.matmul(a, b), a @ b)
    with kt.enable(devices=(device,)):
        c = torch.matmul(a, b)
    assert torch.equal(c, a @ b)


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (None, None, 0), (1, 2, None), (0, 0, 0), (2, None, 1)])
@pytest.mark.parametrize("activation", [None, "gelu"])
def test_vmap_is_one_product(device, dims, activation):
    def draw(shape, dim):
        return torch.randn(shape if dim is None else (*shape[:dim], 3, *shape[dim:]), device=device)

    a, b, bias = (draw(shape, dim) for shape, dim in zip(((5, 4), (2, 4, 6), (6,)), dims))

    def exact(a, b, bias):
        x = a @ b + bias
        return torch.nn.functional.gelu(x) if activation else x

    expected = torch.func.vmap(exact, in_dims=dims)(a.double(), b.double(), bias.double())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a loop over the batch
        within(torch.func.vmap(lambda *given: kt.matmul(*given, activation=activation), in_dims=dims)(a, b, bias), expected, 4)
    slopes = torch.func.grad(lambda a: torch.func.vmap(kt.matmul, in_dims=dims)(a, b, bias).pow(2).sum())(a)
    exact = torch.func.grad(lambda a: torch.func.vmap(lambda a, b, bias: a @ b + bias, in_dims=dims)(a, b.double(), bias.double()).pow(2).sum())(a.double())
    within(slopes, exact, 500)
