"""Reductions and scale_add of NumPy arrays on the CPU, beside NumPy in float64."""

import itertools
import warnings

import numpy as np
import pytest

import kernelwright as kw

FUNCTIONS = {
    "sum": (kw.sum, np.sum),
    "mean": (kw.mean, np.mean),
    "min": (kw.min, np.min),
    "max": (kw.max, np.max),
    "var": (kw.var, np.var),
    "norm": (kw.norm, lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))),
    "norm1": (lambda *a, **k: kw.norm(*a, ord=1, **k), lambda x, axis, keepdims: np.sum(abs(x), axis=axis, keepdims=keepdims)),
    "squares": (kw.sum_of_squares, lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims)),
}
AXES = [None, 0, 1, 2, -1, (0, 1), (1, 2), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", AXES)
def test_axes(rng, name, axis):
    ours, numpys = FUNCTIONS[name]
    for order, keepdims in itertools.product([(0, 1, 2), (2, 0, 1), (1, 2, 0)], [False, True]):
        shape = np.array((3, 4, 5))
        x = rng.standard_normal(shape[list(order)]).astype(np.float32).transpose(np.argsort(order))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kw.CopyWarning)
            result = ours(x, axis, keepdims=keepdims)
        expected = numpys(x.astype(np.float64), axis=axis, keepdims=keepdims)
        assert result.shape == np.shape(expected) and result.dtype == np.float32
        assert not np.any(~(abs(result - expected) <= 1e-6 * (1 + abs(expected))))


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64])
def test_types(dtype):
    x = (np.arange(24) % 7 - 3).astype(dtype).reshape(4, 6)
    integer = np.issubdtype(dtype, np.integer)
    assert kw.sum(x, 0).dtype == (np.int64 if integer else np.promote_types(dtype, np.float32))
    assert np.array_equal(kw.sum(x, 0), x.astype(np.float64).sum(0))
    assert kw.max(x, 1).dtype == dtype and np.array_equal(kw.max(x, 1), x.max(1))
    assert np.array_equal(kw.min_max(x, 1), np.stack([x.min(1), x.max(1)], -1))
    for axis in (None, 0, 1):
        places = kw.argmin(x, axis)
        assert places.dtype == np.int64 and np.array_equal(places, np.argmin(x, axis))
        assert np.array_equal(kw.argmax(x.T, axis), np.argmax(x.T, axis))


def test_no_element():
    nothing = np.empty((3, 0), np.float32)
    assert np.array_equal(kw.sum(nothing, 1), np.zeros(3)) and kw.sum(nothing, 0).shape == (0,)
    assert np.isnan(kw.mean(nothing)) and kw.max(nothing) == -np.inf and kw.argmax(nothing) == -1
    assert np.isnan(kw.var(np.ones(1, np.float32), correction=1))


def test_nan_and_a_single_number():
    x = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(kw.max(x)) and kw.argmax(x) == 1
    assert float(kw.sum(np.float32(3))) == 3
    assert kw.sum(np.ones((2, 3), np.float32), ()).shape == (2, 3)


def test_strides(rng):
    x = rng.standard_normal((6, 8)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(kw.sum(x[:, :5], 1), x[:, :5].sum(1)) and np.allclose(kw.sum(x[:, 2:5], 0), x[:, 2:5].sum(0))
        assert np.allclose(kw.sum(x[:, 3]), x[:, 3].sum())
    with pytest.warns(kw.CopyWarning):
        assert np.allclose(kw.sum(x[::-1, ::2], 1), x[::-1, ::2].sum(1))
    out = np.empty(6, np.float32)
    assert kw.sum(x, 1, out=out) is out and np.allclose(out, x.sum(1))


@pytest.mark.filterwarnings("ignore::kernelwright.CopyWarning")
def test_what_is_wrong_is_said():
    x = np.ones((2, 3), np.float32)
    for call, kind, text in [
        (lambda: kw.sum(x, 2), kw.InvalidArgumentError, "axis is 2"),
        (lambda: kw.sum(x, (0, -2)), kw.InvalidArgumentError, "twice"),
        (lambda: kw.argmax(x, (0, 1)), kw.InvalidArgumentError, "one dimension"),
        (lambda: kw.sum(x.astype(np.uint8)), TypeError, "a has elements of type"),
        (lambda: kw.sum(x, 0, out=np.empty(2, np.float32)), kw.InvalidArgumentError, "out is"),
        (lambda: kw.sum(x, 0, out=np.empty(6, np.float32)[::2]), kw.InvalidArgumentError, "gaps"),
        (lambda: kw.var(x, correction=-1), kw.InvalidArgumentError, "correction"),
        (lambda: kw.norm(x, ord=3), kw.InvalidArgumentError, "ord is 3"),
        (lambda: kw.scale_add(1, x, 0, out=np.empty((2, 6), np.float32)[:, ::2]), kw.InvalidArgumentError, "strides"),
        (lambda: kw.scale_add(1, x.astype(np.float64), 0), TypeError, "float32"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_scale_add(rng):
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    assert np.array_equal(kw.scale_add(2, x, 1), 2 * x + 1)
    wide = rng.standard_normal((4, 9)).astype(np.float32)
    expected = -wide[:, 2:7] + np.float32(0.5)
    part = wide[:, 2:7]
    beside = wide[:, :2].copy()
    assert kw.scale_add(-1, part, 0.5, out=part) is part
    assert np.array_equal(part, expected) and np.array_equal(wide[:, :2], beside)
    with pytest.warns(kw.CopyWarning):
        assert np.array_equal(kw.scale_add(1, x[:, ::2], 0), x[:, ::2])
    assert kw.scale_add(1, np.empty((0, 3), np.float32), 0).shape == (0, 3)
