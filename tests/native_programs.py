"""Random programs of slices, joins, reductions and assignments, for compiled code."""

import numpy as np

SHAPES = ((7,), (3, 5), (2, 3, 4), (6, 1), (1, 4), (5, 2), (33,), (4, 9))


def random_program(seed, n_steps=9):
    """A function of two arrays, and its arguments; it is made of steps that NumPy accepts."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    other = tuple(n if rng.random() < 0.6 else 1 for n in shape)
    args = (rng.uniform(0.4, 1.6, shape), rng.uniform(0.4, 1.6, other))
    steps = []
    values = list(args)
    while len(steps) < n_steps:
        step = _step(rng, values)
        if step is None:
            continue
        try:
            new = step(*values)
        except (ValueError, IndexError):
            continue
        if not 0 < new.size < 400 or new.ndim > 4:
            continue
        values.append(new)
        steps.append(step)
    wanted = rng.choice(len(steps), 3, replace=False) + 2

    def program(x, y):
        found = [x, y]
        for one in steps:
            found.append(one(*found))
        return [found[i] for i in wanted]
    return program, args


def _step(rng, values):
    i, j = rng.integers(len(values), size=2)
    x = values[i]
    kind = rng.integers(23)
    axis = int(rng.integers(x.ndim)) if x.ndim else 0
    n = x.shape[axis] if x.ndim else 0
    start, stop = sorted(rng.integers(0, n + 1, 2)) if n else (0, 0)
    at = (slice(None),) * axis
    index = rng.integers(-n, n, (3, 2) if rng.random() < 0.3 else 4) if n else None
    axes = tuple(int(a) for a in sorted(rng.permutation(x.ndim)[:rng.integers(1, x.ndim + 1)])) \
        if x.ndim else ()
    if kind > 4 and not x.ndim:
        return None
    order = rng.permutation(x.ndim)
    divisor = [d for d in range(1, x.size + 1) if x.size % d == 0]
    d = int(rng.choice(divisor))
    keep = bool(rng.integers(2))
    steps = [
        lambda *v: v[i] + v[j], lambda *v: v[i] * v[j], lambda *v: np.tanh(v[i]) - 0.5 * v[j],
        lambda *v: np.where(v[i] > v[j], v[i], 1.1), lambda *v: np.maximum(v[i], 0.9) / 1.3,
        lambda *v: v[i][(*at, slice(start, stop))], lambda *v: v[i][(*at, slice(None, None, -1))],
        lambda *v: v[i][(*at, slice(start, None, 2))], lambda *v: np.transpose(v[i], order),
        lambda *v: np.reshape(v[i], (d, -1)), lambda *v: np.roll(v[i], int(start) - 2, axis),
        lambda *v: np.concatenate([v[i], v[j]], axis), lambda *v: np.stack([v[i], v[i] * 2.0]),
        lambda *v: np.pad(v[i], 1), lambda *v: v[i][(*at, index)],
        lambda *v: np.sum(v[i], axis=axes, keepdims=keep),
        lambda *v: np.max(v[i], axis=axes, keepdims=True),
        lambda *v: v[i] - np.mean(v[i], axis=axis, keepdims=True),
        lambda *v: np.exp(v[i] - np.max(v[i])) / np.sum(np.exp(v[i] - np.max(v[i])), axis=-1,
                                                       keepdims=True),
        lambda *v: _assigned(v[i], (*at, slice(start, stop)), 0.25),
        lambda *v: _assigned(v[i], (*at, slice(start, stop)), v[j]),
        lambda *v: _added(v[i], (*at, index), 0.5), lambda *v: v[i][(*at, int(start) % n)]]
    return steps[kind]


def _assigned(x, index, value):
    out = x * 1.5
    out[index] = value
    return out


def _added(x, index, value):
    out = x * 1.5
    np.add.at(out, index, value)
    return out
