"""kernelwright.jax beside jax.numpy in float64: jit, vmap, gradients, all layouts of dot_general."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
kj = pytest.importorskip("kernelwright.jax")
import jax.numpy as jnp  # noqa: E402
from conftest import within  # noqa: E402

import kernelwright as kw  # noqa: E402

SHAPES = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5))]


def draw(rng, *shape):
    return jnp.asarray(rng.standard_normal(shape), jnp.float32)


def doubled(x):
    return np.asarray(x, np.float64)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("math", ["fp32", "fp32_split"])
def test_products(rng, shapes, math):
    a, b = (draw(rng, *shape) for shape in shapes)
    exact = doubled(a) @ doubled(b)
    within(kj.matmul(a, b, math=math), exact, 4)
    within(jax.jit(lambda a, b: kj.matmul(a, b, math=math))(a, b), exact, 4)


def gradients_by_numpy(f, a, b, weights):
    """Of sum(f(a, b) * weights), which is linear in a and in b: by unit arrays, in float64."""
    found = []
    for turn in range(2):
        one, other = (a, b)[turn], (a, b)[1 - turn]
        slope = np.zeros(one.shape)
        for index in np.ndindex(*one.shape):
            unit = np.zeros(one.shape)
            unit[index] = 1
            slope[index] = np.sum((f(unit, other) if turn == 0 else f(other, unit)) * weights)
        found.append(slope)
    return found


@pytest.mark.parametrize("shapes", SHAPES[:7])
def test_gradients(rng, shapes):
    a, b = (draw(rng, *shape) for shape in shapes)
    weights = draw(rng, *np.matmul(a, b).shape)
    of_a, of_b = jax.grad(lambda a, b: jnp.sum(kj.matmul(a, b) * weights), argnums=(0, 1))(a, b)
    exact = gradients_by_numpy(np.matmul, doubled(a), doubled(b), doubled(weights))
    within(of_a, exact[0], 20)
    within(of_b, exact[1], 20)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (1, 2)])
def test_vmap(rng, axes):
    a, b = draw(rng, 3, 3, 4), draw(rng, 3, 4, 3)
    if axes[0] is None:
        a = a[0]
    if axes[1] is None:
        b = b[0]
    if axes == (1, 2):
        b = draw(rng, 4, 5, 3)
    ours = jax.vmap(kj.matmul, in_axes=axes)(a, b)
    within(ours, jax.vmap(jnp.matmul, in_axes=axes)(a, b), 4)
    slopes = jax.grad(lambda a: jnp.sum(jax.vmap(kj.matmul, in_axes=axes)(a, b) ** 2))(a)
    exact = jax.grad(lambda a: jnp.sum(jax.vmap(jnp.matmul, in_axes=axes)(a, b) ** 2))(a)
    within(slopes, exact, 60)


NUMBERS = [
    ((2, 3, 4), (4, 5), ((2,), (0,)), ((), ())),
    ((2, 3, 4), (5, 4), ((2,), (1,)), ((), ())),
    ((4, 2, 3), (4, 5), ((0,), (0,)), ((), ())),
    ((2, 4, 3), (5, 4, 6), ((1,), (1,)), ((), ())),
    ((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))),
    ((2, 4, 3), (2, 5, 4), ((1,), (2,)), ((0,), (0,))),
    ((3, 2, 4), (4, 5, 2), ((2,), (0,)), ((1,), (2,))),
    ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0)), ((), ())),
    ((2, 3, 4), (5, 3, 4), ((2, 1), (2, 1)), ((), ())),
    ((2, 3, 4), (2, 3, 4), ((2,), (2,)), ((0, 1), (0, 1))),
    ((2, 3, 4), (3, 2, 4), ((), ()), ((1, 0), (0, 1))),
    ((2, 3), (4,), ((), ()), ((), ())),
    ((2, 3), (3, 2), ((0, 1), (1, 0)), ((), ())),
]


@pytest.mark.parametrize("a, b, contracted, batch", NUMBERS)
def test_dot_general(rng, a, b, contracted, batch):
    a, b = draw(rng, *a), draw(rng, *b)
    exact = jax.lax.dot_general(a, b, (contracted, batch), precision="highest")
    within(kj.dot_general(a, b, (contracted, batch)), exact, 24)


def test_what_is_wrong_is_said(rng):
    a = draw(rng, 3, 4)
    with pytest.raises(kw.InvalidArgumentError, match="4 columns"):
        kj.matmul(a, a)
    with pytest.raises(TypeError, match="bfloat16"):
        kj.matmul(a.astype(jnp.bfloat16), a.T)
    with pytest.raises(kw.InvalidArgumentError, match="math is"):
        kj.matmul(a, a.T, math="tf32")
    with pytest.raises(kw.InvalidArgumentError, match="contracted"):
        kj.dot_general(a, a, (((0,), (1,)), ((), ())))
    with pytest.raises(kw.InvalidArgumentError, match="a dimension"):
        kj.matmul(jnp.float32(1), a)


def count_calls(f, *arguments):
    """How many calls of Kernelwright XLA gets."""
    return jax.jit(f).lower(*arguments).as_text().count("@kernelwright_matmul")


def test_dots_of_highest_precision_are_served(rng):
    device = {"gpu": "cuda"}.get(jax.default_backend(), jax.default_backend())
    a, b, v = draw(rng, 3, 4), draw(rng, 4, 5), draw(rng, 5)

    def f(a, b):
        return jnp.sum(jnp.tanh(a @ b) @ v) + jnp.einsum("ij,jk->", a, b)

    exact = jax.grad(f, argnums=(0, 1))(a, b)
    compiled = jax.jit(jax.grad(f, argnums=(0, 1)))
    with jax.default_matmul_precision("highest"):
        assert count_calls(f, a, b) == 0
        with kj.enable(devices=(device,)):
            assert count_calls(f, a, b) >= 2
            assert count_calls(jax.vmap(lambda a: a @ b), a[None]) == 1
            ours = compiled(a, b)
            within(a @ b, doubled(a) @ doubled(b), 4)
            with kj.enable(smallest=10**6, devices=(device,)):
                assert count_calls(f, a, b) == 0
            assert count_calls(lambda a: a @ a, a.astype(jnp.bfloat16)[:, :3]) == 0
        assert count_calls(f, a, b) == 0
    with kj.enable(devices=(device,)), jax.default_matmul_precision("tensorfloat32"):
        assert count_calls(f, a, b) == 0
    for one, other in zip(ours, exact):
        within(one, other, 20)
    for wrong in (dict(math="tf32"), dict(devices=("tpu",))):
        with pytest.raises(kw.InvalidArgumentError):
            kj.enable(**wrong)


def test_arrays_of_jax_are_read(rng):
    a = draw(rng, 3, 4)
    if jax.default_backend() == "cpu":
        within(kw.sum(a, 0), doubled(a).sum(0), 3)
    else:
        torch = pytest.importorskip("torch")
        out = torch.empty(4, device="cuda")
        within(kw.sum(a, 0, out=out).cpu(), doubled(a).sum(0), 3)
        with pytest.raises(TypeError, match="kernelwright.jax"):
            kw.sum(a, 0)
