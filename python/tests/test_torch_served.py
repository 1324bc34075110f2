"""kernelwright.torch: PyTorch's own products served."""

import threading

import pytest

torch = pytest.importorskip("torch")

import kernelwright as kw  # noqa: E402

kt = pytest.importorskip("kernelwright.torch")

from torch_support import MATHS, Count, served, torch_device, within  # noqa: E402, F401

PRODUCTS = {
    "mm": lambda a, b, c, v: torch.mm(a[0], b[0]),
    "matmul": lambda a, b, c, v: a @ b[0],
    "bmm": lambda a, b, c, v: torch.bmm(a, b),
    "addmm of a row": lambda a, b, c, v: torch.addmm(v, a[0], b[0]),
    "addmm of a row, alpha": lambda a, b, c, v: torch.addmm(v, a[0], b[0], alpha=2),
    "addmm": lambda a, b, c, v: torch.addmm(c[0], a[0], b[0], beta=0.5, alpha=2),
    "addmm without c": lambda a, b, c, v: torch.addmm(c[0] * float("nan"), a[0], b[0], beta=0),
    "baddbmm": lambda a, b, c, v: torch.baddbmm(c, a, b, beta=2),
    "linear": lambda a, b, c, v: torch.nn.functional.linear(a, b[0].t(), v),
    "relu": lambda a, b, c, v: torch.ops.aten._addmm_activation(v, a[0], b[0]),
    "gelu": lambda a, b, c, v: torch.ops.aten._addmm_activation(v, a[0], b[0], use_gelu=True),
    "cdist": lambda a, b, c, v: torch.cdist(a[0], b[0].t(), compute_mode="use_mm_for_euclid_dist"),
    "transposed": lambda a, b, c, v: torch.mm(b[0].t(), a[0].t()),
    "einsum": lambda a, b, c, v: torch.einsum("bij,bjk->bik", a, b),
    "attention": lambda a, b, c, v: torch.softmax(a @ a.transpose(1, 2), -1) @ a,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("math", MATHS)
def test_products_are_served(device, name, math):
    a, b, c = torch.randn(2, 17, 24, device=device), torch.randn(2, 24, 11, device=device), torch.randn(2, 17, 11, device=device)
    v = torch.randn(11, device=device)
    exact = PRODUCTS[name](a.double(), b.double(), c.double(), v.double())
    with served(device, math=math) as enabled, Count() as count:
        result = PRODUCTS[name](a, b, c, v)
    assert count.calls >= 1 and enabled.served() == {"taken": count.calls, "left": 0}
    within(result, exact, 24)
    with Count() as count:
        PRODUCTS[name](a, b, c, v)
    assert count.calls == 0 and not kt.is_enabled()


@pytest.mark.parametrize("name", ["mm", "addmm", "bmm", "baddbmm"])
def test_out_is_served(device, name):
    batch = (2,) if "b" in name[:3] and name != "addmm" else ()
    a, b, c = torch.randn(*batch, 9, 8, device=device), torch.randn(*batch, 8, 7, device=device), torch.randn(*batch, 9, 7, device=device)
    arguments = (c, a, b) if "add" in name else (a, b)
    exact = getattr(torch, name)(*(x.double() for x in arguments))
    out = torch.empty_like(c)
    with served(device), Count() as count:
        assert getattr(torch, name)(*arguments, out=out) is out
        assert count.calls == 1
        grown = torch.empty(0, device=device)
        getattr(torch, name)(*arguments, out=grown)
    within(out, exact, 8)
    within(grown, exact, 8)


def test_gradients_are_served(device):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to(device)
    exact = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to(device).double()
    exact.load_state_dict({k: v.double() for k, v in model.state_dict().items()})
    x = torch.randn(3, 5, 8, device=device)
    with served(device), Count() as count:
        model(x).square().sum().backward()
        assert count.calls >= 5
    exact(x.double()).square().sum().backward()
    for ours, theirs in zip(model.parameters(), exact.parameters()):
        within(ours.grad, theirs.grad, 60)


def attention_of(q, k, v, **options):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)


ATTENTIONS = {
    "plain": lambda q, k, v: attention_of(q, k, v),
    "causal": lambda q, k, v: attention_of(q, k, v, is_causal=True),
    "scale": lambda q, k, v: attention_of(q, k, v, scale=0.3),
    "mask": lambda q, k, v: attention_of(q, k, v, attn_mask=torch.linspace(-1, 1, 33 * 40, device=q.device, dtype=q.dtype).view(33, 40)),
    "hidden": lambda q, k, v: attention_of(q, k, v, attn_mask=torch.ones(33, 40, device=q.device, dtype=torch.bool).tril(5)),
    "tokens": lambda q, k, v: attention_of(*(x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))),
}


@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize("math", MATHS)
def test_attention_is_served(device, name, math):
    q, k, v = (torch.randn(2, 3, rows, 64, device=device) for rows in (33, 40, 40))
    with torch.no_grad():
        exact = ATTENTIONS[name](q.double(), k.double(), v.double())
        plain = ATTENTIONS[name](q, k, v)
        with served(device, math=math) as enabled:
            result = ATTENTIONS[name](q, k, v)
        assert enabled.served() == {"taken": 1, "left": 0}
    within(result, exact, 40)
    assert result.shape == plain.shape


def test_attention_with_gradients_or_dropout_is_pytorchs(device):
    q, k, v = (torch.randn(2, 3, 8, 64, device=device, requires_grad=True) for _ in range(3))
    want = torch.autograd.grad(attention_of(q, k, v).square().sum(), (q, k, v))
    with served(device) as enabled:
        got = torch.autograd.grad(attention_of(q, k, v).square().sum(), (q, k, v))
        assert enabled.served()["taken"] == 0
        with torch.no_grad():
            attention_of(q.double(), k.double(), v.double())
            assert enabled.served()["taken"] == 0
            attention_of(q, k, v)
            assert enabled.served()["taken"] == 1
            dropped = attention_of(q, k, v, dropout_p=0.999)  # on the CPU by products, which are served
            assert (dropped == 0).float().mean() > 0.5
    for mine, theirs in zip(got, want):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_what_is_not_served(device):
    a = torch.randn(6, 6, device=device)
    others = [a.double(), a.to(torch.bfloat16), a.to(torch.float16), a.to(torch.complex64)]
    expected = [(x @ x, torch.addmm(x[0], x, x), torch.bmm(x[None], x[None])) for x in others]
    with served(device), Count() as count:
        for x, (mm, addmm, bmm) in zip(others, expected):
            assert torch.equal(x @ x, mm) and torch.equal(torch.addmm(x[0], x, x), addmm)
            assert torch.equal(torch.bmm(x[None], x[None]), bmm)
        with torch.autocast(device, dtype=torch.bfloat16):
            assert (a @ a).dtype == torch.bfloat16
        assert count.calls == 0
        with pytest.raises(RuntimeError, match="cannot be multiplied|size"):
            torch.mm(a, a[:3])
        with pytest.raises(RuntimeError):
            torch.mm(a, a.double())
        with pytest.raises(RuntimeError):
            torch.bmm(a, a)
    with served(device, smallest=10**6), Count() as count:
        a @ a
        assert count.calls == 0
    for wrong in (dict(math="tf32"), dict(devices=("xpu",))):
        with pytest.raises(kw.InvalidArgumentError):
            kt.enable(**wrong)
    assert not kt.is_enabled()


def test_tf32_is_left_to_pytorch(device):
    a = torch.randn(6, 6, device=device)
    before = torch.backends.cuda.matmul.fp32_precision
    try:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        with served(device), Count() as count:
            a @ a
            assert count.calls == 0
            torch.backends.cuda.matmul.fp32_precision = "ieee"
            a @ a
            assert count.calls == 1
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def test_enable_within_enable(device):
    a = torch.randn(6, 6, device=device)
    outer = served(device, math="fp32")
    with served(device, smallest=10**9), Count() as count:
        a @ a
        assert count.calls == 0
    with Count() as count:
        a @ a
    assert count.calls == 1 and kt.is_enabled()
    outer.disable()
    outer.disable()
    assert not kt.is_enabled()


def test_functions_over_tensors(device):
    """vmap and a compiled function go through the replaced kernels, too."""
    a = torch.randn(3, 5, 5, device=device)
    with served(device), Count() as count:
        result = torch.func.vmap(lambda x: x @ x)(a)
        assert count.calls == 1
    within(result, a.double() @ a.double(), 5)
    within(torch.func.vmap(lambda x: kt.matmul(x, x))(a), a.double() @ a.double(), 5)


def test_inductor_is_told_and_forgets(device):
    import torch._inductor.config as config

    before = (list(config.external_matmul), config.pre_grad_custom_pass)
    with served(device):
        (ours,) = [one for one in config.external_matmul if one.__name__ == "kernelwright_mm"]
        assert config.pre_grad_custom_pass is not None
        with served(device, inductor=True):
            assert len(config.external_matmul) == len(before[0]) + 1
        a, b = torch.randn(5, 6, device=device), torch.randn(6, 7, device=device)
        out = torch.empty(5, 7, device=device)
        ours(a, b, out=out)
        within(out, a.double() @ b.double(), 6)
        half = a.to(torch.float16)
        assert torch.equal(ours(half, half.t(), out=None), half @ half.t())
    assert (list(config.external_matmul), config.pre_grad_custom_pass) == before
    ours(a, b, out=out)
    within(out, a.double() @ b.double(), 6)
    with served(device, inductor=False):
        assert list(config.external_matmul) == before[0]


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("bias", [False, True])
def test_activations_are_put_into_products(device, activation, bias):
    from kernelwright.torch import _inductor

    nn = torch.nn
    last = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh")}[activation]
    model = nn.Sequential(nn.Linear(8, 6, bias=bias), last, nn.Linear(6, 4)).to(device)
    x = torch.randn(2, 5, 8, device=device)
    found = []

    def backend(graph, _):
        found.append(_inductor.fuse_activations(graph.graph, 1, (device,)))
        graph.recompile()
        return graph

    torch._dynamo.reset()
    with torch.no_grad():
        within(torch.compile(model, backend=backend)(x), model.double()(x.double()), 40)
    model.float()
    assert found == [1]
    torch._dynamo.reset()
    torch.compile(model, backend=backend)(x).sum().backward()
    assert found == [1, 0]


def test_threads(device):
    a = torch.randn(64, 64, device=device)
    with served(device):
        expected = a @ a
        results = [None] * 6

        def work(i):
            stream = torch.cuda.Stream() if device == "cuda" else None
            with torch.cuda.stream(stream):
                if stream is not None:
                    stream.wait_stream(torch.cuda.default_stream())
                for _ in range(20):
                    results[i] = a @ a
                if stream is not None:
                    stream.synchronize()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(torch.equal(result, expected) for result in results)
