"""A small neural classifier: two interleaved spirals, one hidden layer, plain gradient descent.

Parameters are a nested structure of arrays; the gradient has the same structure. The data come
from a fixed seed, so every run ends with the same network.
"""

import numpy as np
import wengert as wg

HIDDEN, CLASSES, N_STEPS, RATE = 24, 2, 300, 0.8


def spirals(n, rng):
    """Points of two spirals, and the class of each."""
    angle = np.sqrt(rng.uniform(0.05, 1.0, n)) * 1.5 * np.pi
    label = np.arange(n) % CLASSES
    turn = angle + np.pi * label
    points = np.stack([angle * np.cos(turn), angle * np.sin(turn)], axis=1) / np.pi
    return points + rng.normal(0.0, 0.03, points.shape), label


def initial(rng):
    """Small random weights, zero biases."""
    return {"hidden": (rng.normal(0.0, 1.0, (2, HIDDEN)), np.zeros(HIDDEN)),
            "out": (rng.normal(0.0, 0.3, (HIDDEN, CLASSES)), np.zeros(CLASSES))}


def scores(network, points):
    (w1, b1), (w2, b2) = network["hidden"], network["out"]
    return np.tanh(points @ w1 + b1) @ w2 + b2


def cross_entropy(network, points, label):
    logits = scores(network, points)
    log_total = np.log(np.sum(np.exp(logits), axis=1))
    return np.mean(log_total - logits[np.arange(len(label)), label])


step = wg.value_and_grad(cross_entropy)


def descend(layer, slope):
    """One layer after a step of gradient descent."""
    return tuple(value - RATE * s for value, s in zip(layer, slope, strict=True))


def main() -> None:
    rng = np.random.default_rng(seed=1)
    points, label = spirals(200, rng)
    network = initial(rng)
    for n in range(N_STEPS + 1):
        loss, slopes = step(network, points, label)
        if n in (0, 10, 100, N_STEPS):
            print(f"step {n:4}: loss {loss:.3f}")
        network = {name: descend(layer, slopes[name]) for name, layer in network.items()}
    fresh, fresh_label = spirals(1000, rng)
    seen = np.mean(np.argmax(scores(network, points), axis=1) == label)
    unseen = np.mean(np.argmax(scores(network, fresh), axis=1) == fresh_label)
    print(f"accuracy {seen:.1%} on the data, {unseen:.1%} on fresh data")
    assert loss < 0.02
    assert seen == 1.0
    assert unseen > 0.98
    print(step.source)


if __name__ == "__main__":
    main()
