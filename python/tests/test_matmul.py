"""Products of NumPy arrays on the CPU, each beside float64."""

import array
import gc
import threading
import warnings

import numpy as np
import pytest
from conftest import within

import kernelwright as kw


def draw(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (3, 4, 5)),
    ((2, 3, 1, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((1, 1), (1, 1)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((0, 3, 4), (4, 5)),
    ((5, 0, 4), (4, 2)),
]


@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("math", ["fp32", "fp32_split"])
def test_shapes_are_numpys(rng, a, b, math):
    a, b = draw(rng, *a), draw(rng, *b)
    result = kw.matmul(a, b, math=math)
    assert result.dtype == np.float32
    within(result, a.astype(np.float64) @ b.astype(np.float64), a.shape[-1])


@pytest.mark.parametrize("of_a", ["rows", "columns", "gaps", "column of one"])
@pytest.mark.parametrize("of_b", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("of_out", ["rows", "columns", "gaps"])
def test_strides_that_blas_expresses_are_not_copied(rng, of_a, of_b, of_out):
    def lay(rows, cols, how):
        if how == "rows":
            return draw(rng, rows, cols)
        if how == "columns":
            return draw(rng, cols, rows).T
        if how == "gaps":
            return draw(rng, rows, cols + 3)[:, 1 : cols + 1]
        return draw(rng, rows, 1, 2)[:, :, 0]

    k = 1 if of_a == "column of one" else 7
    a, b, out = lay(6, k, of_a), lay(k, 5, of_b), lay(6, 5, of_out)
    base = out.base
    before = None if base is None else base.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kw.matmul(a, b, out=out) is out
    within(out, a.astype(np.float64) @ b.astype(np.float64), k)
    if of_out == "gaps":  # what lies beside is as it was
        assert np.array_equal(base[:, 0], before[:, 0]) and np.array_equal(base[:, 6:], before[:, 6:])


@pytest.mark.parametrize(
    "lay",
    [
        lambda x: np.ascontiguousarray(x)[::-1],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2][::2],
        lambda x: np.broadcast_to(x[0], x.shape),
    ],
)
def test_other_strides_are_copied_with_a_warning(rng, lay):
    a, b = lay(draw(rng, 6, 8)), draw(rng, 8, 5)
    with pytest.warns(kw.CopyWarning, match="a is copied"):
        result = kw.matmul(a, b)
    within(result, a.astype(np.float64) @ b.astype(np.float64), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kw.CopyWarning)
        with pytest.raises(kw.CopyWarning):
            kw.matmul(a, b)
        with pytest.raises(kw.CopyWarning):
            kw.matmul(b.T, a.T)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_batches_of_permuted_arrays(rng, order):
    back = np.argsort(order)
    a = draw(rng, *np.array((3, 4, 5))[list(order)]).transpose(back)
    b = draw(rng, *np.array((3, 5, 6))[list(order)]).transpose(back)
    assert a.shape == (3, 4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kw.CopyWarning)
        result = kw.matmul(a, b)
    within(result, a.astype(np.float64) @ b.astype(np.float64), 5)


def test_negative_batch_strides(rng):
    a, b = draw(rng, 3, 4, 5)[::-1], draw(rng, 3, 5, 6)
    out = np.empty((3, 4, 6), np.float32)[::-1]
    kw.matmul(a, b, out=out)
    within(out, a.astype(np.float64) @ b.astype(np.float64), 5)


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5), (5,)])
@pytest.mark.parametrize("columns", [False, True])
def test_epilogues(rng, activation, shape, columns):
    a, b, bias = draw(rng, *shape), draw(rng, 5, 4), draw(rng, 4)
    out = np.empty((*shape[:-1], 4), np.float32)
    if columns and out.ndim == 2:
        out = np.empty(out.shape[::-1], np.float32).T
    kw.matmul(a, b, bias=bias, activation=activation, out=out)
    x = a.astype(np.float64) @ b.astype(np.float64) + bias
    erf = np.vectorize(__import__("math").erf)
    expected = {
        None: lambda: x,
        "relu": lambda: np.maximum(x, 0),
        "gelu": lambda: x / 2 * (1 + erf(x / np.sqrt(2))),
        "gelu_tanh": lambda: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    }[activation]()
    within(out, expected, 5)
    within(kw.matmul(a, b), a.astype(np.float64) @ b.astype(np.float64), 5)  # nothing stays behind


def test_gemm(rng):
    a, b, c, source = draw(rng, 3, 4), draw(rng, 4, 5), draw(rng, 3, 5), draw(rng, 3, 5)
    rows = draw(rng, 3)
    product = a.astype(np.float64) @ b.astype(np.float64)
    expected = 2 * product + 3 * c
    assert kw.gemm(2, a, b, 3, c) is c
    within(c, expected, 6)
    within(kw.gemm(2, a, b, -1, source=source), 2 * product - source, 6)
    within(kw.gemm(2, a, b, bias=rows, bias_of="rows"), 2 * product + rows[:, None], 6)
    columns = np.asfortranarray(c)
    before = columns.astype(np.float64)
    kw.gemm(1, a, b, 0.5, columns, bias=rows, bias_of="rows")
    within(columns, product + 0.5 * before + rows[:, None], 6)
    c[:] = np.nan
    kw.gemm(0, np.full_like(a, np.nan), b, 0, c)
    assert np.array_equal(c, np.zeros_like(c))


def test_gemm_of_a_batch_with_a_source(rng):
    a, b, source = draw(rng, 2, 3, 4), draw(rng, 4, 5), draw(rng, 2, 3, 5)
    within(kw.gemm(1, a, b, 2, source=source), a.astype(np.float64) @ b.astype(np.float64) + 2.0 * source, 5)


def draw_complex(rng, *shape):
    return (draw(rng, *shape) + 1j * draw(rng, *shape)).astype(np.complex64)


@pytest.mark.parametrize("a, b", SHAPES)
def test_complex_products(rng, a, b):
    a, b = draw_complex(rng, *a), draw_complex(rng, *b)
    result, exact = kw.matmul(a, b), a.astype(np.complex128) @ b
    assert result.dtype == np.complex64
    within(result.real, exact.real, 2 * a.shape[-1])
    within(result.imag, exact.imag, 2 * a.shape[-1])


def test_complex_gemm_and_strides(rng):
    a, b = draw_complex(rng, 2, 4, 3).transpose(0, 2, 1)[::-1], draw_complex(rng, 4, 7)[:, 1:6]
    out = draw_complex(rng, 2, 5, 3).transpose(0, 2, 1)
    exact = (1 - 2j) * (a.astype(np.complex128) @ b) + 0.5j * out
    assert kw.gemm(1 - 2j, a, b, 0.5j, out) is out
    within(out.real, exact.real, 10)
    within(out.imag, exact.imag, 10)
    for call, kind, text in [
        (lambda: kw.matmul(a, b.real.copy()), TypeError, "a has elements of type complex64"),
        (lambda: kw.matmul(a, b, activation="relu"), kw.InvalidArgumentError, "take no bias"),
        (lambda: kw.matmul(a, b, out=np.empty((2, 3, 5), np.float32)), TypeError, "complex64, as the result has"),
        (lambda: kw.gemm(1j, b.real.copy().T, b.real.copy()), TypeError, "alpha or beta is complex"),
        (lambda: kw.gemm(1, a, b, 1j), kw.InvalidArgumentError, "beta is 1j"),
        (lambda: kw.gemm("x", a, b), TypeError, ""),
        (lambda: kw.sum(a), TypeError, "complex64"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_any_buffer_is_an_array(rng):
    a = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
    assert np.array_equal(kw.matmul(a, np.eye(3, dtype=np.float32)), [[0, 1, 2], [3, 4, 5]])


class Capsule:
    """An array that has DLPack alone."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **arguments):
        return self.held.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def test_dlpack(rng):
    a, b = draw(rng, 3, 4), draw(rng, 5, 4).T
    result = kw.matmul(Capsule(a), Capsule(b))
    within(result, a.astype(np.float64) @ b.astype(np.float64), 4)
    del a, b
    gc.collect()


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
def test_what_is_wrong_is_said(rng):
    a, b = draw(rng, 3, 4), draw(rng, 4, 5)
    wrong = [
        (lambda: kw.matmul(a, a), kw.InvalidArgumentError, r"4 columns and b has 3 rows"),
        (lambda: kw.matmul(draw(rng, 2, 3, 4), draw(rng, 3, 4, 5)), ValueError, "batch sizes 2 and 3"),
        (lambda: kw.matmul(np.float32(1), a), kw.InvalidArgumentError, "a has no dimension"),
        (lambda: kw.matmul(a.astype(np.float64), b), TypeError, "a must have elements of type float32"),
        (lambda: kw.matmul(a, b.astype(np.complex64)), TypeError, "b has elements of type"),
        (lambda: kw.matmul(a.astype(">f4"), b), TypeError, "a has elements of type"),
        (lambda: kw.matmul(a, [1.0]), TypeError, "b is a list, no array"),
        (lambda: kw.matmul(a, None), TypeError, "no array"),
        (lambda: kw.matmul(a, b, math="tf32"), kw.InvalidArgumentError, "math is 'tf32'"),
        (lambda: kw.matmul(a, b, activation="tanh"), kw.InvalidArgumentError, "activation is 'tanh'"),
        (lambda: kw.matmul(a, b, bias=draw(rng, 3)), kw.InvalidArgumentError, "bias must be a float32 vector of 5"),
        (lambda: kw.matmul(a, b, out=draw(rng, 5, 3)), kw.InvalidArgumentError, r"out is \(5, 3\)"),
        (lambda: kw.matmul(a, b, out=np.empty((3, 5))), TypeError, "out has elements of type float64"),
        (lambda: kw.matmul(a, a.T, out=np.empty((3, 6), np.float32)[:, ::2]), ValueError, "out has strides"),
        (lambda: kw.matmul(draw(rng, 3, 3), b[:3, :3], out=b[:3, :3]), kw.InvalidArgumentError, "shares an element"),
        (lambda: kw.gemm(1, a, b, 2), kw.InvalidArgumentError, "nothing that it multiplies"),
        (lambda: kw.gemm(1, a, b, bias_of="all"), kw.InvalidArgumentError, "bias_of"),
        (lambda: kw.gemm(1, a, b, 1, source=a), kw.InvalidArgumentError, "source must have the result's sizes"),
        (lambda: kw.matmul(np.ones((1,) * 17, np.float32), b), kw.InvalidArgumentError, "17 dimensions"),
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()
    read_only = np.empty((3, 5), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(kw.InvalidArgumentError, match="read-only"):
        kw.matmul(a, b, out=read_only)
    repeated = np.lib.stride_tricks.as_strided(np.empty((3, 5), np.float32), (2, 3, 5), (0, 20, 4))
    with pytest.raises(kw.InvalidArgumentError, match="repeats its elements"):
        kw.matmul(draw(rng, 2, 3, 4), b, out=repeated)
    assert isinstance(kw.InvalidArgumentError("x"), kw.Error) and kw.InvalidArgumentError.status == "invalid_argument"


def test_threads(rng):
    a, b = draw(rng, 50, 60), draw(rng, 60, 40)
    expected = kw.matmul(a, b)
    results = [None] * 8

    def work(i):
        for _ in range(20):
            results[i] = kw.matmul(a, b)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)
