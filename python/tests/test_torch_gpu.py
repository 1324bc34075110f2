"""kernelwright and kernelwright.torch on a GPU: streams, graphs, memory that goes, compiled models, CuPy."""

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import kernelwright as kw  # noqa: E402

kt = pytest.importorskip("kernelwright.torch")

from torch_support import MATHS, ON_GPU, Count, within  # noqa: E402

pytestmark = pytest.mark.skipif(not ON_GPU, reason="no GPU")


def test_devices_do_not_mix():
    a = torch.randn(4, 4, device="cuda")
    with pytest.raises(kw.InvalidArgumentError, match="in host memory"):
        kw.matmul(a, a.cpu())
    with pytest.raises(RuntimeError):
        kt.matmul(a, a.cpu())
    with kt.enable(), pytest.raises(RuntimeError, match="same device"):
        torch.mm(a, a.cpu())
    with pytest.raises(kw.InvalidArgumentError):
        kw.matmul(a, np.eye(4, dtype=np.float32))


@pytest.mark.parametrize("math", MATHS)
def test_the_current_stream_is_used(math):
    a = torch.zeros(2048, 2048, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        a.fill_(1)
        b = kw.matmul(a, a, math=math)
        c = kt.matmul(a, a, math=math)
        with kt.enable(math=math):
            d = a @ a
    stream.synchronize()
    for result in (b, c, d):
        assert torch.equal(result, torch.full_like(a, 2048))


@pytest.mark.parametrize("math", MATHS)
def test_tensors_may_go_while_work_is_queued(math):
    x = torch.randn(1024, 1024, device="cuda")
    expected = kt.matmul(x, x, math=math)
    torch.cuda._sleep(50_000_000)
    results = []
    for _ in range(20):
        a = x.clone()
        results.append(kw.matmul(a, a, math=math))
        del a
        torch.empty_like(x).fill_(float("nan"))  # takes the memory that was freed, in the stream's order
    gc.collect()
    assert all(torch.equal(result, expected) for result in results)


@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("way", ["matmul", "operator", "enable"])
def test_graphs(math, way):
    multiply = {"matmul": lambda a, b: kw.matmul(a, b, math=math), "operator": lambda a, b: kt.matmul(a, b, math=math), "enable": torch.mm}[way]
    a, b = torch.randn(1000, 900, device="cuda"), torch.randn(900, 1100, device="cuda")
    graphs = []
    with kt.enable(math=math):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            multiply(a, b)
        side.synchronize()
        for _ in range(2):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                c = multiply(a, b)
                c = multiply(c, b.t())
            graphs.append((graph, c))
    assert kw._core.contexts()[0] >= 2
    for _ in range(3):
        a.normal_()
        exact = (a.double() @ b.double()) @ b.double().t()
        streams = [torch.cuda.Stream() for _ in graphs]
        for stream, (graph, _) in zip(streams, graphs):  # side by side
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        for _, c in graphs:
            assert ((c.double() - exact).abs() <= 2e-3 * (exact.abs() + 30)).all()
    spares = kw._core.contexts()[1]
    del graph, c, graphs
    gc.collect()
    torch.cuda.synchronize()
    for _ in range(50):
        if kw._core.contexts()[1] > spares:
            break
        torch.cuda._sleep(1_000_000)
        torch.cuda.synchronize()
    assert kw._core.contexts()[1] > spares, "a graph that is gone gives its context back"


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_models_are_served(mode):
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(512, 128)).cuda()
    exact = [p.detach().double() for p in model.parameters()]
    compiled = torch.compile(model, mode=mode)
    x = torch.randn(300, 256, device="cuda")
    with kt.enable(), Count() as count:
        for _ in range(4):
            model.zero_grad(set_to_none=True)  # what a graph computed is its own until it runs again
            torch.compiler.cudagraph_mark_step_begin()
            y = compiled(x).clone()
            y.sum().backward()
        assert count.calls >= 2
    F = torch.nn.functional
    within(y, F.linear(F.gelu(F.linear(x.double(), *exact[:2]), approximate="tanh"), *exact[2:]), 600)


def test_inductor_chooses_among_products():
    """With tuning on, each product of a graph is compiled with Kernelwright's among the choices."""
    torch._dynamo.reset()
    a, b = torch.randn(256, 512, device="cuda"), torch.randn(512, 384, device="cuda")
    with kt.enable(inductor=True), torch.no_grad():
        options = {"max_autotune": True, "max_autotune_gemm_backends": "ATEN"}
        compiled = torch.compile(lambda a, b: torch.relu(a @ b) + 1, options=options)
        within(compiled(a, b), torch.relu(a.double() @ b.double()) + 1, 512)
        model = torch.nn.Sequential(torch.nn.Linear(512, 256), torch.nn.GELU()).cuda()
        within(torch.compile(model)(a), model.double()(a.double()), 512)


def test_many_elements():
    big = torch.ones(2**31 + 5, dtype=torch.int8, device="cuda")
    assert kw.sum(big).item() == 2**31 + 5
    del big
    a, b = torch.ones(2**21, 1030, device="cuda"), torch.ones(1030, 2, device="cuda")  # a has more than 2^31 elements
    assert torch.equal(kw.matmul(a, b), torch.full((2**21, 2), 1030.0, device="cuda"))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    a, b = cupy.random.standard_normal((40, 30), dtype=cupy.float32), cupy.random.standard_normal((30, 20), dtype=cupy.float32)
    exact = a.astype("f8") @ b.astype("f8")
    with cupy.cuda.Stream() as stream:
        c = kw.matmul(a, b.copy(order="F"))
        assert isinstance(c, cupy.ndarray)
        stream.synchronize()
    assert float(abs(c - exact).max()) < 1e-4
    assert float(abs(kw.sum(a, 1) - a.sum(1)).max()) < 1e-4
    with pytest.warns(kw.CopyWarning):
        assert float(abs(kw.matmul(a[::-1, ::2], b[::2]) - a[::-1, ::2] @ b[::2]).max()) < 1e-4
    c = kw.matmul(torch.ones(3, 40, device="cuda"), a)  # of two packages: the first one's kind
    assert isinstance(c, torch.Tensor)
