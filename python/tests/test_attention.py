"""kernelwright.attention of NumPy arrays on the CPU, beside float64."""

import warnings

import numpy as np
import pytest
from conftest import within

import kernelwright as kw


def expected(q, k, v, *, rule="none", mask=0.0, scale=None):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    x = q @ k.swapaxes(2, 3) * (scale if scale is not None else q.shape[3] ** -0.5) + mask
    shift = {"none": keys, "from_start": 0, "from_end": keys - queries}[rule]
    x = np.where(np.arange(keys)[None, :] <= np.arange(queries)[:, None] + shift, x, -np.inf)
    largest = x.max(-1, keepdims=True)
    p = np.exp(x - np.where(np.isinf(largest), 0, largest))
    return p @ v / np.maximum(p.sum(-1, keepdims=True), 1e-300)


def operands(rng, batch=2, heads=4, kv_heads=2, queries=5, keys=9, dim=12):
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    return draw(batch, heads, queries, dim), draw(batch, kv_heads, keys, dim), draw(batch, kv_heads, keys, dim)


@pytest.mark.parametrize("math", ["fp32", "fp32_split"])
@pytest.mark.parametrize("rule", ["none", "from_start", "from_end"])
def test_rules_and_grouped_heads(rng, math, rule):
    q, k, v = operands(rng)
    within(kw.attention(q, k, v, causal=rule, math=math), expected(q, k, v, rule=rule), 9)
    within(kw.attention(q, k, v, causal=rule, scale=-0.3), expected(q, k, v, rule=rule, scale=-0.3), 9)


def test_true_is_from_the_end(rng):
    q, k, v = operands(rng)
    assert np.array_equal(kw.attention(q, k, v, causal=True), kw.attention(q, k, v, causal="from_end"))
    assert np.array_equal(kw.attention(q, k, v, causal=False), kw.attention(q, k, v))


@pytest.mark.parametrize("shape", [(2, 4, 5, 9), (1, 4, 1, 9), (5, 9), (9,)])
def test_masks_repeat(rng, shape):
    q, k, v = operands(rng)
    mask = rng.standard_normal(shape).astype(np.float32)
    if len(shape) == 1:
        with pytest.raises(kw.InvalidArgumentError, match="mask has 1 dimensions"):
            kw.attention(q, k, v, mask=mask)
        mask = mask[None]
    within(kw.attention(q, k, v, mask=mask), expected(q, k, v, mask=mask), 9)


def test_a_query_that_sees_nothing_has_zeros(rng):
    q, k, v = operands(rng)
    mask = np.zeros((5, 9), np.float32)
    mask[2] = -np.inf
    result = kw.attention(q, k, v, mask=mask)
    assert not result[:, :, 2].any() and result[:, :, 3].all()


def test_strides_and_out(rng):
    q, k, v = operands(rng)
    lay = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)  # noqa: E731  token by token
    out = lay(np.full_like(q, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kw.attention(lay(q), lay(k), lay(v), out=out) is out
    assert np.array_equal(out, kw.attention(q, k, v))
    with pytest.warns(kw.CopyWarning):
        assert np.array_equal(kw.attention(np.asfortranarray(q), k, v), out)


def test_leading_dimensions_may_be_missing(rng):
    q, k, v = operands(rng, batch=1, heads=2, kv_heads=2)
    assert np.array_equal(kw.attention(q[0], k[0], v[0]), kw.attention(q, k, v)[0])
    assert np.array_equal(kw.attention(q[0, 1], k[0, 1], v[0, 1]), kw.attention(q, k, v)[0, 1])


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda a: a.update(k=a["k"][:, :, :, :4]), kw.InvalidArgumentError, "k and v differ in dimension -1"),
        (lambda a: a.update(q=a["q"][:1]), kw.InvalidArgumentError, "q is of 1 entries"),
        (lambda a: a.update(q=a["q"][:, :3]), kw.InvalidArgumentError, "q.heads is 3, not a multiple of k.heads, 2"),
        (lambda a: a.update(v=a["v"].astype(np.float64)), TypeError, "v must have elements of type float32"),
        (lambda a: a.update(q=np.zeros(3, np.float32)), kw.InvalidArgumentError, "q has 1 dimensions"),
        (lambda a: a.update(out=np.zeros((2, 4, 5, 11), np.float32)), kw.InvalidArgumentError, "out is .2, 4, 5, 11., but the result is"),
        (lambda a: a.update(out=a["q"]), kw.InvalidArgumentError, "o shares an element with q"),
        (lambda a: a.update(mask=np.zeros((3, 9), np.float32)), kw.InvalidArgumentError, "mask's dimension -2 has 3 elements: pass 5 or 1"),
        (lambda a: a.update(mask=np.zeros((5, 1), np.float32)), kw.InvalidArgumentError, "mask's dimension -1 has 1 elements: pass 9"),
        (lambda a: a.update(causal="start"), kw.InvalidArgumentError, "causal is 'start'"),
        (lambda a: a.update(math="tf32"), kw.InvalidArgumentError, "math is 'tf32'"),
    ],
)
def test_what_is_refused(rng, change, error, match):
    q, k, v = operands(rng)
    arguments = {"q": q, "k": k, "v": v}
    change(arguments)
    with pytest.raises(error, match=match):
        kw.attention(arguments.pop("q"), arguments.pop("k"), arguments.pop("v"), **arguments)
