"""Products of tensors that lie in memory as they rarely do, each element held to the error of an FP32 sum."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator

import checks
import torch

LARGE = 2**28  # multiply-adds of products whose reference is computed on the device, too
ROWS = 64  # that are compared of the largest
Make = Callable[..., torch.Tensor]


def worst_share(found: torch.Tensor, exact: torch.Tensor, magnitude: torch.Tensor, depth: int) -> float:
    """The largest error in what an FP32 sum may have."""
    found = found.detach().to(exact)
    same = (found == exact) | (found.isnan() & exact.isnan())
    allowed = checks.sum_error(depth) * magnitude + depth * checks.SMALLEST_SUBNORMAL
    shares = torch.where(same, 0.0, torch.nan_to_num((found - exact).abs() / allowed, nan=math.inf, posinf=math.inf))
    return float(shares.max()) if shares.numel() else 0.0


def judged(found, a, b, *, alpha=1.0, beta=0.0, c=None) -> float:
    """`found` beside alpha a b + beta c in float64."""
    depth = a.shape[-1]
    place = a.device if found.numel() * depth > LARGE else "cpu"
    a, b = a.detach().to(place).double(), b.detach().to(place).double()
    exact, magnitude = alpha * (a @ b), abs(alpha) * (a.abs() @ b.abs())
    if c is not None and beta != 0:
        exact, magnitude = exact + beta * c.to(exact), magnitude + abs(beta) * c.to(exact).abs()
    if found.shape != exact.shape:
        raise ValueError(f"the shape is {tuple(found.shape)}, not {tuple(exact.shape)}")
    return worst_share(found, exact, magnitude, max(depth, 1))


def plain(a: torch.Tensor, b: torch.Tensor) -> float:
    return judged(a @ b, a, b)


def misaligned(make: Make, rows: int, columns: int, offset: int, wider: int = 0) -> torch.Tensor:
    """Starts so many floats past an allocation, and its rows are so much further apart than they are wide."""
    width = columns + wider
    return make(offset + rows * width)[offset:].view(rows, width)[:, :columns]


def shapes(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    sizes = [(1, 1, 1), (1, 1, 1000), (7, 1, 1), (127, 129, 131), (128, 128, 128), (257, 255, 1), (1, 4096, 4096),
             (4096, 1, 4096), (33, 65, 100000), (1024, 1024, 1024), (1000, 1001, 999), (512, 2048, 3)]  # fmt: skip
    for m, n, k in sizes:
        for turned in ("nn", "nt", "tn", "tt"):

            def product(m=m, n=n, k=k, turned=turned):
                a = make(m, k) if turned[0] == "n" else make(k, m).T
                return plain(a, make(k, n) if turned[1] == "n" else make(n, k).T)

            yield f"{m}x{n}x{k} {turned}", product


def layouts(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    yield "every second column", lambda: plain(make(300, 1024)[:, ::2], make(512, 800)[:, ::2])
    yield "every third row", lambda: plain(make(900, 500)[::3], make(1500, 400)[::3])
    yield "a turned slice", lambda: plain(make(512, 900).T[::3], make(512, 300))
    yield "a row expanded to a matrix", lambda: plain(make(1, 512).expand(256, 512), make(512, 256))
    yield "a column expanded to a matrix", lambda: plain(make(256, 512), make(512, 1).expand(512, 300))
    yield "one number expanded to a matrix", lambda: plain(make(1, 1).expand(128, 192), make(192, 64))
    yield "the same tensor twice", lambda: (lambda a: plain(a, a))(make(768, 768))
    yield "a tensor and its transpose", lambda: (lambda a: plain(a, a.T))(make(1024, 512))
    yield "flipped", lambda: plain(make(256, 256).flip(0), make(256, 256).flip(1))
    yield (
        "reshaped from four dimensions",
        lambda: plain(make(8, 4, 16, 32).permute(1, 3, 0, 2).reshape(128, 128), make(128, 96)),
    )
    for offset in (1, 2, 3):
        for which in (0, 1):

            def product(offset=offset, which=which):
                pair = [make(600, 700), make(700, 500)]
                pair[which] = misaligned(make, *pair[which].shape, offset, wider=which)
                return plain(*pair)

            yield f"{'ab'[which]} {offset} floats past its allocation", product


def batches(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    yield "batch", lambda: plain(make(12, 200, 64), make(12, 64, 200))
    yield "batch of one", lambda: plain(make(1, 300, 200), make(1, 200, 100))
    yield "batch of none", lambda: plain(make(0, 30, 20), make(0, 20, 10))
    yield "batch with one matrix for all", lambda: plain(make(16, 128, 96), make(96, 160))
    yield "batch with one matrix expanded", lambda: plain(make(1, 128, 96).expand(9, 128, 96), make(9, 96, 64))
    yield "batches that broadcast", lambda: plain(make(8, 1, 64, 80), make(1, 5, 80, 48))
    yield (
        "batch in the middle dimension",
        lambda: plain(make(64, 12, 80).transpose(0, 1), make(80, 12, 64).transpose(0, 1)),
    )
    yield (
        "attention's heads",
        lambda: (lambda x: plain(x[0], x[1].transpose(-1, -2)))(make(2, 128, 3, 8, 64).permute(2, 0, 3, 1, 4)),
    )
    yield "batch of 70000", lambda: plain(make(70000, 4, 5), make(70000, 5, 3))
    yield "batch, turned and misaligned", lambda: plain(make(1 + 6 * 100 * 90)[1:].view(6, 90, 100).mT, make(6, 90, 70))


def empty(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    for m, n, k in ((0, 5, 4), (5, 0, 4), (5, 4, 0), (0, 0, 0)):
        yield f"{m}x{n}x{k}", lambda m=m, n=n, k=k: plain(make(m, k), make(k, n))

    def added():
        c = make(5, 4)
        return judged(torch.addmm(c, make(5, 0), make(0, 4), beta=2), make(5, 0), make(0, 4), beta=2.0, c=c)

    yield "k of 0 with beta", added


def outputs(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    def scaled(alpha, beta, m=300, n=400, k=500):
        a, b, c = make(m, k), make(k, n), make(m, n)
        return judged(torch.addmm(c, a, b, alpha=alpha, beta=beta), a, b, alpha=alpha, beta=beta, c=c)

    for alpha, beta in ((1, 1), (0.5, -2), (0, 1), (-1, 0), (2, 0.25)):
        yield f"alpha {alpha}, beta {beta}", lambda alpha=alpha, beta=beta: scaled(alpha, beta)
    yield "alpha 1, beta 1 at 2048", lambda: scaled(1, 1, 2048, 2048, 2048)

    def over_nan():
        a, b = make(200, 300), make(300, 100)
        return judged(torch.addmm(torch.full((200, 100), math.nan).to(a), a, b, beta=0), a, b)

    def in_place():
        a, b, c = make(1024, 512), make(512, 768), make(1024, 768)
        before = c.clone()
        return judged(c.addmm_(a, b, beta=0.5), a, b, beta=0.5, c=before)

    def into_columns():
        a, b, whole = make(500, 600), make(600, 300), make(500, 400)
        before = whole.clone()
        torch.mm(a, b, out=whole[:, 3:303])
        untouched = torch.equal(whole[:, :3], before[:, :3]) and torch.equal(whole[:, 303:], before[:, 303:])
        return judged(whole[:, 3:303], a, b) if untouched else math.inf

    def into_turned():
        a, b, c = make(500, 600), make(600, 300), make(300, 500)
        torch.mm(a, b, out=c.T)
        return judged(c.T, a, b)

    def batch_in_place():
        a, b, c = make(7, 100, 120), make(7, 120, 90), make(7, 100, 90)
        before = c.clone()
        return judged(c.baddbmm_(a, b, beta=-1, alpha=2), a, b, alpha=2.0, beta=-1.0, c=before)

    def bias(rows):
        x, weight, shift = make(rows, 512), make(768, 512), make(768)
        return judged(torch.nn.functional.linear(x, weight, shift), x, weight.T, beta=1.0, c=shift.expand(rows, 768))

    def activated(gelu, rows):
        """By cublasLt's epilogues; an activation makes an error hardly larger."""
        x, weight, shift = make(rows, 512), make(768, 512), make(768)
        found = torch._addmm_activation(shift, x, weight.T, use_gelu=gelu)
        before, magnitude = (
            x.cpu().double() @ weight.T.cpu().double(),
            x.cpu().double().abs() @ weight.T.cpu().double().abs(),
        )
        before, magnitude = before + shift.cpu().double(), magnitude + shift.cpu().double().abs()
        form = "tanh" if found.is_cuda else "none"  # PyTorch's two devices differ
        exact = torch.nn.functional.gelu(before, approximate=form) if gelu else before.relu()
        return worst_share(found.cpu(), exact, magnitude, 512)

    for gelu, rows in ((False, 256), (True, 256), (True, 2048), (False, 1)):
        name = f"bias and {'GELU' if gelu else 'ReLU'}, {rows} rows"
        yield name, lambda gelu=gelu, rows=rows: activated(gelu, rows)
    yield "beta 0 over NaN", over_nan
    yield "added in place", in_place
    yield "into columns of a wider one", into_columns
    yield "into a transpose", into_turned
    yield "batch added in place", batch_in_place
    yield "a linear layer with a bias", lambda: bias(256)
    yield "a linear layer with a bias, one row", lambda: bias(1)


def values(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    def special(put, m=256, n=192, k=320):
        a, b = make(m, k), make(k, n)
        put(a, b)
        return plain(a, b)

    def infinite(a, b):
        a[3, 5], b[7, 2], a[100, 7] = math.inf, -math.inf, 0.0

    def not_a_number(a, b):
        a[3, 5], b[7, 2] = math.nan, math.nan

    yield "infinities", lambda: special(infinite)
    yield "infinities at 1024", lambda: special(infinite, 1024, 1024, 1024)
    yield "NaN", lambda: special(not_a_number)
    yield "NaN at 1024", lambda: special(not_a_number, 1024, 1024, 1024)
    yield "subnormal products", lambda: special(lambda a, b: (a.mul_(1e-22), b.mul_(1e-20)))
    yield "numbers near the largest", lambda: special(lambda a, b: (a.mul_(1e18), b.mul_(1e16)), k=1024)
    yield (
        "rows of very different size",
        lambda: special(lambda a, b: a.mul_(torch.logspace(-18, 18, len(a)).to(a)[:, None])),
    )
    yield (
        "columns that cancel",
        lambda: special(lambda a, b: a.copy_(torch.cat([a[:, :160], -a[:, :160]], 1)), 512, 512),
    )
    yield "all of one sign, long", lambda: special(lambda a, b: (a.abs_(), b.abs_()), 128, 128, 65536)


def on_the_device(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    """Streams, threads, graphs; and repeated calls."""

    def side_stream():
        a, b = make(1024, 1024), make(1024, 1024)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            c = (a @ b) @ b
        torch.cuda.current_stream().wait_stream(stream)
        first = (a.double() @ b.double()).float()
        return judged(c, first, b) / 2  # two products' errors

    def threads():
        pairs = [(make(96 + 32 * i, 700), make(700, 500)) for i in range(8)]
        found: list = [math.inf] * len(pairs)

        def work(i):
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
                products = [pairs[i][0] @ pairs[i][1] for _ in range(50)]
                torch.cuda.current_stream().synchronize()
                found[i] = max(plain(*pairs[i]), *(judged(product, *pairs[i]) for product in products[::49]))

        torch.cuda.synchronize()
        workers = [threading.Thread(target=work, args=(i,)) for i in range(len(pairs))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return max(found)

    def graph():
        a, b = make(512, 1024), make(1024, 768)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        for _ in range(3):
            a @ b
        with torch.cuda.graph(captured):
            c = a @ b
        a.copy_(make(512, 1024))
        captured.replay()
        captured.replay()
        return judged(c, a, b)

    def repeated():
        a, b = make(1500, 1100), make(1100, 1300)
        first = a @ b
        return 0.0 if all(torch.equal(first, a @ b) for _ in range(20)) else math.inf

    def trained():
        """Gradients of a layer, each a product."""
        x, weight = make(2048, 1024).requires_grad_(), make(512, 1024).requires_grad_()
        y, seed = torch.nn.functional.linear(x, weight), make(2048, 512)
        y.backward(seed)
        return max(judged(y, x, weight.T), judged(x.grad, seed, weight), judged(weight.grad, seed.T, x))

    yield "on a side stream", side_stream
    yield "eight threads", threads
    yield "a captured graph", graph
    yield "the same bits again", repeated
    yield "a layer's gradients", trained


def large(make: Make) -> Iterator[tuple[str, Callable[[], float]]]:
    def some_rows(m, n, k):
        a, b = make(m, k), make(k, n)
        c = a @ b
        rows = torch.linspace(0, m - 1, ROWS, device=a.device).round().long()
        return judged(c[rows], a[rows], b)

    yield "8192x8192x8192", lambda: some_rows(8192, 8192, 8192)
    yield "16384x1000x12345", lambda: some_rows(16384, 1000, 12345)
    yield "3x2000003x40", lambda: plain(make(3, 40), make(40, 2000003))
    yield "2^22x16x65", lambda: some_rows(2**22, 16, 65)
    yield "an operand of more than 2^31 elements", lambda: some_rows(2**20 + 3, 64, 2056)
    yield "an output of more than 2^31 elements", lambda: some_rows(2**17 + 1, 16392, 40)


def run(checked: checks.Checks, device: str, small: bool) -> None:
    generator = torch.Generator(device).manual_seed(0)

    def make(*shape: int) -> torch.Tensor:
        return torch.empty(shape, device=device).uniform_(-1, 1, generator=generator)

    kinds = {"shape": shapes, "layout": layouts, "batch": batches, "empty": empty, "output": outputs, "values": values}
    if device == "cuda":
        kinds["device"] = on_the_device
    if not small:
        kinds["large"] = large
    for kind, cases in kinds.items():
        for name, case in cases(make):
            with checked.attempt(f"{kind}: {name}") as result:
                share = case()
                result["detail"] = f"{share:.2f} of what an FP32 sum may have"
                result["passed"] = share <= 1
        if device == "cuda":
            torch.cuda.empty_cache()
