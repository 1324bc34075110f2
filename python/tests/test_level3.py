"""Functions of plain matrices, level 3 and products out of core, of NumPy arrays, beside float64."""

import itertools
import warnings

import numpy as np
import pytest
from conftest import within

import kernelwright as kw


def draw(rng, rows, cols, by="rows"):
    x = rng.standard_normal((rows, cols) if by == "rows" else (cols, rows)).astype(np.float32)
    return x if by == "rows" else x.T


def triangle(x, uplo, unit=False):
    x = np.tril(x) if uplo == "lower" else np.triu(x)
    return x - np.diag(np.diag(x)) + np.eye(len(x)) if unit else x


LAYOUTS = list(itertools.product(["rows", "columns"], repeat=2))


@pytest.mark.parametrize("of_a, of_out", LAYOUTS)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("transpose", [False, True])
def test_syrk(rng, of_a, of_out, uplo, transpose):
    a = draw(rng, *((4, 7) if transpose else (7, 4)), of_a)
    wide = a.astype(np.float64)
    product = wide.T @ wide if transpose else wide @ wide.T
    result = kw.syrk(a, uplo=uplo, transpose=transpose)
    within(result, triangle(product, uplo), 4)
    out = draw(rng, 7, 7, of_out)
    expected = triangle(2 * product - 3.0 * out, uplo) + (out - triangle(out, uplo))
    assert kw.syrk(a, alpha=2, beta=-3, out=out, uplo=uplo, transpose=transpose) is out
    within(out, expected, 16)


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
@pytest.mark.parametrize("of_a, of_out", LAYOUTS)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("function", ["syrk", "herk"])
def test_complex_updates(rng, of_a, of_out, uplo, transpose, function):
    def drawn(rows, cols, by):
        return draw(rng, rows, cols, by) + np.complex64(1j) * draw(rng, rows, cols, by)

    update, hermitian = getattr(kw, function), function == "herk"
    a = drawn(*((4, 7) if transpose else (7, 4)), of_a)
    wide = a.astype(np.complex128)
    left = (wide.conj() if hermitian else wide).T if transpose else wide
    right = wide if transpose else (wide.conj() if hermitian else wide).T
    result = update(a, uplo=uplo, transpose=transpose)
    assert result.dtype == np.complex64
    np.testing.assert_allclose(result, triangle(left @ right, uplo), rtol=1e-5, atol=1e-5)
    alpha, beta = (2, -3) if hermitian else (2 - 1j, -3 + 0.5j)
    out = drawn(7, 7, of_out)
    before = out.copy()
    if hermitian:
        np.fill_diagonal(before, before.diagonal().real)
    expected = triangle(alpha * (left @ right) + beta * before, uplo) + (out - triangle(out, uplo))
    assert update(a, alpha=alpha, beta=beta, out=out, uplo=uplo, transpose=transpose) is out
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    if hermitian:
        assert not out.diagonal().imag.any()


@pytest.mark.parametrize("of_a, of_b", LAYOUTS)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_symm(rng, of_a, of_b, uplo, side):
    a, b, out = draw(rng, 6, 6, of_a), draw(rng, *((6, 5) if side == "left" else (5, 6)), of_b), None
    half = triangle(a.astype(np.float64), uplo)
    whole = half + half.T - np.diag(np.diag(half))
    product = whole @ b if side == "left" else b @ whole
    out = draw(rng, *b.shape, of_b)
    expected = 2 * product - out
    kw.symm(a, b, alpha=2, beta=-1, out=out, uplo=uplo, side=side)
    within(out, expected, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if of_b == "columns" else "error", kw.CopyWarning)
        within(kw.symm(a, b, uplo=uplo, side=side), product, 6)


@pytest.mark.parametrize("of_a, of_b", LAYOUTS)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("transpose, unit", [(False, False), (True, False), (False, True), (True, True)])
def test_triangular(rng, of_a, of_b, uplo, side, transpose, unit):
    a, b = draw(rng, 6, 6, of_a), draw(rng, *((6, 5) if side == "left" else (5, 6)), of_b)
    a += (8 * np.eye(6)).astype(np.float32)
    if unit:
        a /= 8
    op = triangle(a.astype(np.float64), uplo, unit)
    op = op.T if transpose else op
    options = dict(uplo=uplo, side=side, transpose=transpose, unit_diagonal=unit)
    product = op @ b if side == "left" else b @ op
    solution = np.linalg.solve(op, b) if side == "left" else np.linalg.solve(op.T, b.T).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if of_b == "columns" else "error", kw.CopyWarning)
        within(kw.trmm(a, b, alpha=2, **options), 2 * product, 200)
        within(kw.trsm(a, b, alpha=2, **options), 2 * solution, 200)
    there = b.copy(order="K")
    assert kw.trsm(a, there, out=there, **options) is there
    within(there, solution, 200)
    there = b.copy(order="K")
    kw.trmm(a, there, out=there, **options)
    within(there, product, 200)


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
@pytest.mark.parametrize("of_a, of_b", LAYOUTS)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("transpose, conjugate, unit", [(False, False, False), (True, False, True), (True, True, False)])
def test_complex_systems(rng, of_a, of_b, uplo, side, transpose, conjugate, unit):
    def drawn(rows, cols, by):
        return draw(rng, rows, cols, by) + np.complex64(1j) * draw(rng, rows, cols, by)

    a, b = drawn(6, 6, of_a), drawn(*((6, 5) if side == "left" else (5, 6)), of_b)
    a += (8 * np.eye(6)).astype(np.complex64)
    if unit:
        a /= 8
    op = triangle(a.astype(np.complex128), uplo, unit)
    op = op.T if transpose else op
    op = op.conj() if conjugate else op
    solution = np.linalg.solve(op, b) if side == "left" else np.linalg.solve(op.T, b.T).T
    options = dict(uplo=uplo, side=side, transpose=transpose, conjugate=conjugate, unit_diagonal=unit)
    result = kw.trsm(a, b, alpha=2 - 1j, **options)
    assert result.dtype == np.complex64
    np.testing.assert_allclose(result, (2 - 1j) * solution, rtol=2e-5, atol=2e-5)
    there = b.copy(order="K")
    assert kw.trsm(a, there, out=there, **options) is there
    np.testing.assert_allclose(there, solution, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("of_a, of_b", LAYOUTS)
@pytest.mark.parametrize("of_out", ["rows", "columns"])
@pytest.mark.parametrize("device", kw.devices())
def test_out_of_core(rng, of_a, of_b, of_out, device):
    a, b, out = draw(rng, 75, 130, of_a), draw(rng, 130, 61, of_b), draw(rng, 75, 61, of_out)
    product = a.astype(np.float64) @ b
    expected = 1.5 * product - 2.0 * out
    memory = 20000 if device.kind == "cpu" else 8 << 20
    for math in ("fp32", "fp32_split"):
        within(kw.matmul_out_of_core(a, b, device_memory=memory, device=device, math=math), product, 130)
    assert kw.matmul_out_of_core(a, b, alpha=1.5, beta=-2, out=out, device_memory=memory, device=device) is out
    within(out, expected, 130)
    within(kw.matmul_out_of_core(a[:0], b, device=device), product[:0], 130)


def test_what_is_wrong_out_of_core_is_said(rng):
    a, b = draw(rng, 4, 4), draw(rng, 3, 4)
    for call, kind, text in [
        (lambda: kw.matmul_out_of_core(a, b), kw.InvalidArgumentError, "4 columns and b has 3 rows"),
        (lambda: kw.matmul_out_of_core(a, a, device_memory=100), kw.InvalidArgumentError, "device_bytes is 100"),
        (lambda: kw.matmul_out_of_core(a, a, device_memory=-1), kw.InvalidArgumentError, "device_memory is -1"),
        (lambda: kw.matmul_out_of_core(a, a, beta=1), kw.InvalidArgumentError, "nothing that it multiplies"),
        (lambda: kw.matmul_out_of_core(a, a, out=a), kw.InvalidArgumentError, "shares an element"),
        (lambda: kw.matmul_out_of_core(a, a, device=kw.Device("cuda", 77, "")), kw.NoDeviceError, ""),
        (lambda: kw.matmul_out_of_core(a[0], a), kw.InvalidArgumentError, "a has 1 dimensions"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_no_element():
    nothing = np.empty((0, 3), np.float32)
    assert kw.syrk(nothing).shape == (0, 0)
    assert np.array_equal(kw.syrk(nothing, transpose=True), np.zeros((3, 3)))
    assert kw.trsm(np.empty((0, 0), np.float32), nothing).shape == (0, 3)


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
def test_what_is_wrong_is_said(rng):
    a, b = draw(rng, 4, 4), draw(rng, 4, 3)
    for call, kind, text in [
        (lambda: kw.trsm(b, b), kw.InvalidArgumentError, "a is 4 x 3: it must be square"),
        (lambda: kw.trsm(a, b, side="right"), kw.InvalidArgumentError, "order 4 and b has 3 columns"),
        (lambda: kw.trsm(a, b[0]), kw.InvalidArgumentError, "b has 1 dimensions"),
        (lambda: kw.trsm(a, b, uplo="both"), kw.InvalidArgumentError, "uplo is 'both'"),
        (lambda: kw.symm(a, b, side="up"), kw.InvalidArgumentError, "side is 'up'"),
        (lambda: kw.symm(a, b, beta=1), kw.InvalidArgumentError, "nothing that it multiplies"),
        (lambda: kw.syrk(a, beta=1), kw.InvalidArgumentError, "nothing that it multiplies"),
        (lambda: kw.syrk(b, out=b), kw.InvalidArgumentError, "out is"),
        (lambda: kw.syrk(a.astype(np.float64)), TypeError, "a must have elements of type float32"),
        (lambda: kw.syrk(a, alpha=1j), TypeError, "alpha or beta is complex"),
        (lambda: kw.herk(a.astype(np.complex64), alpha=1j), TypeError, "Hermitian update has real"),
        (lambda: kw.herk(a.astype(np.complex64), out=a), TypeError, "complex64"),
        (lambda: kw.symm(a, b, out=b), kw.InvalidArgumentError, "shares an element|overlap"),
        (lambda: kw.trmm(a, b, out=np.empty((3, 4), np.float32).T), kw.InvalidArgumentError, "different order"),
        (lambda: kw.trsm(a, b, alpha=1j), TypeError, "alpha is complex"),
        (lambda: kw.trsm(a.astype(np.complex64), b), TypeError, "different types"),
        (lambda: kw.trsm(a, b, conjugate=True), kw.InvalidArgumentError, "conjugate is True"),
        (lambda: kw.trmm(a.astype(np.complex64), b), TypeError, "float32"),
        (lambda: kw.trsm(a, b, math="tf32"), kw.InvalidArgumentError, "math is"),
    ]:
        with pytest.raises(kind, match=text):
            call()
