"""Softmax and norms of NumPy arrays on the CPU, beside NumPy in float64."""

import warnings

import numpy as np
import pytest

import kernelwright as kw


def softmax64(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def norm64(v, gamma=None, beta=None, epsilon=1e-5, centers=True):
    d = v - v.mean(-1, keepdims=True) if centers else v
    z = d / np.sqrt((d * d).mean(-1, keepdims=True) + epsilon)
    return z * (1 if gamma is None else gamma) + (0 if beta is None else beta)


def close(result, expected, tolerance=2e-6):
    assert result.shape == expected.shape
    error = np.abs(result.astype(np.float64) - expected)
    assert not np.any(~(error <= tolerance * (1 + np.abs(expected))))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_along_any_axis(rng, axis):
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(kw.softmax(x, axis), softmax64(x.astype(np.float64), axis))
        close(kw.log_softmax(x, axis), np.log(softmax64(x.astype(np.float64), axis)))
        turned = x.transpose(2, 0, 1)
        close(kw.softmax(turned, axis=0), softmax64(turned.astype(np.float64), 0))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_norms(rng, dtype):
    x, residual = (rng.standard_normal((6, 7)).astype(dtype) for _ in range(2))
    gamma, beta, bias = (rng.standard_normal(7).astype(dtype) for _ in range(3))
    tolerance = 2e-6 if dtype == np.float32 else 2e-3
    wide = [each.astype(np.float64) for each in (x, gamma, beta)]
    result = kw.layer_norm(x, gamma, beta)
    assert result.dtype == dtype
    close(result, norm64(*wide), tolerance)
    close(kw.rms_norm(x, gamma), norm64(wide[0], wide[1], centers=False), tolerance)
    close(kw.layer_norm(x), norm64(wide[0]), tolerance)
    v = (x.astype(np.float32) + bias.astype(np.float32)) + residual.astype(np.float32)
    close(kw.layer_norm(x, gamma, beta, bias=bias, residual=residual, epsilon=0.5), norm64(v.astype(np.float64), *wide[1:], epsilon=0.5), tolerance)


def test_out_and_strides(rng):
    x = rng.standard_normal((6, 8)).astype(np.float32)
    expected = softmax64(x.astype(np.float64))
    out = np.full((6, 16), 7, np.float32)
    assert np.shares_memory(kw.softmax(x, out=out[:, ::2]), out)
    close(out[:, ::2], expected)
    assert np.all(out[:, 1::2] == 7)
    close(kw.softmax(np.broadcast_to(x[0], (3, 8))), np.broadcast_to(expected[0], (3, 8)))
    with pytest.warns(kw.CopyWarning):
        close(kw.softmax(x[::-1]), expected[::-1])
    assert kw.softmax(x, out=x) is x
    close(x, expected)
    assert kw.softmax(np.empty((0, 3), np.float32)).shape == (0, 3)
    assert kw.layer_norm(np.empty((3, 0), np.float32)).shape == (3, 0)


def test_rows_that_are_not_numbers():
    x = np.array([[1, np.nan], [-np.inf, -np.inf], [-np.inf, 0]], np.float32)
    assert np.array_equal(kw.softmax(x), np.array([[np.nan] * 2, [np.nan] * 2, [0, 1]], np.float32), equal_nan=True)
    assert np.all(np.isnan(kw.layer_norm(x)))


def test_what_is_wrong_is_said():
    x = np.ones((2, 3), np.float32)
    for call, kind, text in [
        (lambda: kw.softmax(x, 2), kw.InvalidArgumentError, "axis is 2"),
        (lambda: kw.softmax(np.float32(1)), kw.InvalidArgumentError, "0 dimensions"),
        (lambda: kw.softmax(x.astype(np.float64)), TypeError, "float32, float16 or bfloat16"),
        (lambda: kw.softmax(x, out=np.empty((3, 2), np.float32)), kw.InvalidArgumentError, "out is"),
        (lambda: kw.softmax(x, out=np.broadcast_to(x[0], (2, 3))), kw.InvalidArgumentError, "out"),
        (lambda: kw.layer_norm(x, np.ones((1, 3), np.float32)), kw.InvalidArgumentError, "vector of 3"),
        (lambda: kw.layer_norm(x, np.ones(3, np.float16)), kw.InvalidArgumentError, "another type"),
        (lambda: kw.layer_norm(x, residual=np.ones((3, 2), np.float32)), kw.InvalidArgumentError, "residual"),
        (lambda: kw.layer_norm(x, epsilon=-1), kw.InvalidArgumentError, "epsilon"),
        (lambda: kw.rms_norm(x, out=x.reshape(-1)[1:4]), kw.InvalidArgumentError, "out is"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_tensors_of_pytorch(rng):
    torch = pytest.importorskip("torch")
    for dtype, tolerance in [(torch.float32, 2e-6), (torch.bfloat16, 1e-2)]:
        x = torch.from_numpy(rng.standard_normal((5, 9)).astype(np.float32)).to(dtype)
        gamma = torch.rand(9).to(dtype)
        for result, expected in [
            (kw.softmax(x, 0), torch.softmax(x.double(), 0)),
            (kw.layer_norm(x.T.contiguous().T, gamma, gamma), torch.nn.functional.layer_norm(x.double(), (9,), gamma.double(), gamma.double())),
        ]:
            assert result.dtype == dtype
            close(result.float().numpy(), expected.numpy(), tolerance)
