"""Manual checkpointing: what is kept, what is computed again, and that the numbers stay the same."""

import tracemalloc

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import MutationError, PolicyError

rng = np.random.default_rng(3)
W1, W2, X = rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
LAYERS, EVERY = 96, 8


def layer(x, W1, W2):
    h = W1 @ x
    a = np.tanh(h)
    b = np.exp(-a * a)
    return W2 @ b + x


def of_layers(layer):
    def loss(x, W1, W2):
        for _ in range(3):
            x = layer(x, W1, W2)
        return np.sum(x * x)
    return loss


POLICIES = ["nothing", "everything", "contractions", "h", ("a", "h"), {"b"}]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_values_and_gradients_are_the_same_bits(policy):
    plain = wg.value_and_grad(of_layers(layer), (0, 1, 2))(X, W1, W2)
    checkpointed = of_layers(wg.checkpoint(layer, policy=policy))
    value, slopes = wg.value_and_grad(checkpointed, (0, 1, 2))(X, W1, W2)
    assert value == plain[0]
    for a, b in zip(slopes, plain[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert checkpointed(X, W1, W2) == pytest.approx(float(value), rel=1e-14)     # in plain Python


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_second_derivatives_in_every_mode(policy):
    checkpointed = of_layers(wg.checkpoint(layer, policy=policy))
    expected = wg.hessian(of_layers(layer))(X, W1, W2)
    for mode in ("forward", "reverse"):
        found = wg.hessian(checkpointed, mode=mode)(X, W1, W2)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    v = np.arange(4.0)
    np.testing.assert_allclose(wg.hvp(checkpointed)(X, W1, W2, v), expected @ v, rtol=1e-11)


def statements(source):
    """A module without its comments."""
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("#"))


def body_of(source, name):
    """The statements of one function of a module."""
    return statements(source).split(f"def {name}(")[1].split("\n\n\n")[0]


def test_the_policy_says_what_is_computed_again():
    def source(policy):
        f = of_layers(wg.checkpoint(layer, policy=policy))
        return body_of(wg.grad(f, (0, 1, 2)).specialize(X, W1, W2).source.text, "layer_vjp")
    assert "W1 @ x" in source("nothing")
    assert "W1 @ x" not in source("contractions")
    assert "np.tanh" in source("contractions")
    assert "np.tanh" not in source("a")
    assert "np.exp" in source("a")
    assert "np.exp" not in source(("a", "b"))


def test_equal_calls_are_one_function():
    source = wg.grad(of_layers(wg.checkpoint(layer))).specialize(X, W1, W2).source.text
    source = statements(source)
    assert source.count("def ") == 3
    assert source.count("= layer(") == 3


def tanh_layers(checkpointed):
    def block(x, weights):
        for w in weights:
            x = np.tanh(x * w + 0.1)
        return x

    def loss(x, weights):
        inner = wg.checkpoint(block) if checkpointed else block
        for i in range(0, LAYERS, EVERY):
            x = inner(x, weights[i:i + EVERY])
        return np.sum(x ** 2)
    return loss


def peak(function, *args):
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_chain_of_layers_keeps_the_boundaries_and_one_block():
    """Of a chain of 96 layers with a boundary every 8 at most 21 are in memory."""
    x, weights = np.linspace(0.1, 1.0, 16_384), list(np.linspace(0.5, 1.5, LAYERS))
    checkpointed = wg.value_and_grad(tanh_layers(True), (0, 1))
    plain = wg.value_and_grad(tanh_layers(False), (0, 1))
    found, expected = checkpointed(x, weights), plain(x, weights)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1][0], expected[1][0])
    assert [float(w) for w in found[1][1]] == [float(w) for w in expected[1][1]]
    # What one layer takes besides its own activation, cotangents and temporary arrays, apart.
    one = wg.value_and_grad(lambda x, w: np.sum(np.tanh(x * w + 0.1) ** 2), (0, 1))
    working = peak(one, x, 0.5) / x.nbytes - 1
    assert peak(checkpointed, x, weights) / x.nbytes - working <= 21
    assert peak(plain, x, weights) / x.nbytes - working >= 96


def test_decisions_inside_are_made_as_outside():
    @wg.checkpoint
    def branching(x):
        if x[0] > 0:
            return np.sin(x)
        return np.cos(x)
    gradient = wg.grad(lambda x: np.sum(branching(x * 2.0)))
    np.testing.assert_allclose(gradient(np.array([1.0, 2.0])), 2 * np.cos([2.0, 4.0]))
    np.testing.assert_allclose(gradient(np.array([-1.0, 2.0])), -2 * np.sin([-2.0, 4.0]))


def test_methods_keywords_and_loops():
    class Model:
        scale = 2.0

        @wg.checkpoint
        def apply(self, x, *, shift):
            return {"y": np.sin(self.scale * x) + shift}
    model = Model()
    assert wg.grad(lambda x: model.apply(x, shift=x)["y"])(0.3) == pytest.approx(
        2 * np.cos(0.6) + 1, rel=1e-14)

    def looped(wrap):
        return lambda x: wg.fori_loop(0, 3, lambda i, y: wrap(lambda z: np.sin(z) * x)(y), x)
    for mode in ("forward", "reverse"):
        assert wg.grad(looped(wg.checkpoint), mode=mode)(0.7) == wg.grad(
            looped(lambda f: f), mode=mode)(0.7)


def test_refusals():
    with pytest.raises(PolicyError, match=r"'z', which is no variable.*a, b, h"):
        wg.grad(of_layers(wg.checkpoint(layer, policy=["z"])))(X, W1, W2)

    @wg.checkpoint
    def writes(x):
        x[0] = 1.0
        return x
    with pytest.raises(MutationError, match="assigns into its arguments"):
        wg.grad(lambda x: np.sum(writes(2.0 * x)))(X)
