"""Budgets of memory: optimal plans, the same bits, and predictions beside what is measured."""

import itertools
import pickle
import re
import tracemalloc

import numpy as np
import pytest
import wengert as wg
from wengert.codegen.budget import _task
from wengert.compiler.errors import BudgetError
from wengert.compiler.passes.checkpoint import Step, Task, least, plan
from wengert.runtime.options import parse_memory

X = np.linspace(0.1, 1.0, 32_768)           # 256 KiB
LAYERS, DEPTH, LEVELS, STEPS = 96, 8, 4, 32


# -- plans of small programs, beside all of them --------------------------------------------------

def random_task(rng, n_forward, n_fixed):
    """A program whose second half reads results of the first, as a pullback does."""
    steps = [Step((), 0, 0.0, fixed=True)]
    fixed = set(rng.permutation(np.arange(1, n_forward + 1))[:n_fixed])
    for i in range(1, n_forward + 1):
        args = {i - 1} | {int(a) for a in rng.integers(max(0, i - 5), i, rng.integers(0, 3))}
        view = i not in fixed and rng.random() < 0.1
        steps.append(Step(tuple(sorted(args)), 0 if view else int(rng.integers(4, 12)),
                          0.0 if view else float(rng.integers(1, 9)), view, (),
                          int(rng.integers(0, 4)), i in fixed))
    for i in reversed(range(1, n_forward + 1)):
        args = {len(steps) - 1} | {int(a) for a in steps[i].args} | (
            {i} if rng.random() < 0.6 else set())
        args = sorted(args)
        takes = tuple(range(len(args))) if rng.random() < 0.5 else ()
        steps.append(Step(tuple(args), int(rng.integers(4, 12)), 3.0, False, takes))
    return Task(steps, frozenset([len(steps) - 1]))


def by_definition(task, kept):
    """Work and peak of a set of kept values, from the words of the module."""
    steps, turn = task.steps, task.turn

    def lies_in(i):
        return set().union(*map(lies_in, steps[i].args)) if steps[i].views else {i}

    run, now = [], {}          # computations: (step, the computations it reads)

    def compute(i):
        run.append((i, [now[a] for a in steps[i].args]))
        now[i] = len(run) - 1

    for i in range(turn + 1):
        compute(i)
    for i in range(turn + 1):
        if not all(task.pinned[r] or r in kept for r in lies_in(i)):
            del now[i]

    def fetch(i):
        if i not in now:
            for a in steps[i].args:
                fetch(a)
            compute(i)

    for b in range(turn + 1, len(steps)):
        for a in steps[b].args:
            fetch(a)
        compute(b)

    def memory_of(c):
        i, reads = run[c]
        return set().union(*map(memory_of, reads)) if steps[i].views else {c}

    memories = [memory_of(c) for c in range(len(run))]
    end = list(range(len(run)))
    for c, (_, reads) in enumerate(run):
        for m in set().union(*[memories[r] for r in reads]):
            end[m] = max(end[m], c)
    for o in task.outputs:
        for m in memories[now[o]]:
            end[m] = len(run)
    owner = {}                 # memory that a computation takes over from an operand
    for c, (i, reads) in enumerate(run):
        for position in steps[i].takes:
            a = reads[position]
            if end[a] == c and memories[a] == {a} and a not in owner.values() and \
                    steps[run[a][0]].size == steps[i].size and not steps[run[a][0]].views:
                owner[c] = a
                break
    peak = 0
    for c, (i, _) in enumerate(run):
        alive = [m for m in range(c + 1) if end[m] >= c and m != owner.get(c)]
        peak = max(peak, sum(steps[run[m][0]].size for m in alive) + steps[i].extra)
    return sum(steps[i].work for i, _ in run[turn + 1:] if i <= turn), peak


def all_sets(task):
    values = [i for i in range(task.turn + 1)
              if not task.pinned[i] and not task.steps[i].views]
    for n in range(len(values) + 1):
        yield from map(frozenset, itertools.combinations(values, n))


@pytest.mark.parametrize("seed", range(12))
def test_small_plans_are_optimal(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 30))
    task = random_task(rng, n, max(0, n - 8))
    assert len(task.steps) <= 60
    every = [by_definition(task, kept) for kept in all_sets(task)]
    assert max(by_definition(task, frozenset(range(len(task.steps))))[1], 0) == task.plain.peak
    lowest = min(peak for _, peak in every)
    for budget in np.linspace(lowest, task.plain.peak, 5).astype(int):
        found = plan(task, int(budget))
        assert found.exact
        assert (found.work, found.peak) == by_definition(task, found.kept) or \
            found is task.plain
        assert found.work == min(work for work, peak in every if peak <= budget)
    assert plan(task, lowest - 1).peak >= lowest
    assert least(task).peak == lowest


def skipping(x, weights):
    y = np.tanh(x * weights[0])
    z = np.exp(-y * y) + x
    return np.sum(z * y * np.tanh(z))


# -- programs -------------------------------------------------------------------------------------

def chain(x, weights):
    for w in weights:
        x = np.tanh(x * w + 0.1)
    return np.sum(x ** 2)


@pytest.mark.parametrize(("function", "n"), [(chain, 3), (skipping, 1)])
def test_plans_of_small_gradients_are_optimal(function, n):
    task = _task(wg.grad(function).specialize(X, [0.5] * n).graph)
    assert len(task.steps) <= 60
    every = [by_definition(task, kept) for kept in all_sets(task)]
    lowest = min(peak for _, peak in every)
    assert lowest < task.plain.peak
    for budget in (lowest, (lowest + task.plain.peak) // 2):
        found = plan(task, budget)
        assert found.exact
        assert (found.work, found.peak) == by_definition(task, found.kept)
        assert found.work == min(work for work, peak in every if peak <= budget)


def u_shaped(x, weights):
    weights = iter(weights)

    def block(x):
        for _ in range(DEPTH):
            x = np.tanh(x * next(weights) + 0.1)
        return x
    skips = []
    for _ in range(LEVELS):
        x = block(x)
        skips.append(x)
        x = np.mean(np.reshape(x, (-1, 2)), axis=1)
    x = block(x)
    for skip in reversed(skips):
        x = block(np.reshape(x[:, None] * np.ones(2), -1) + skip)
    return np.sum(x ** 2)


def unrolled_ode(x, rates):
    h = 0.05

    def f(y):
        return y * (1.0 - y) * rates[0] - rates[1] * y / (1.0 + y * y)
    for _ in range(STEPS):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(x ** 2)


PROGRAMS = {"chain": (chain, LAYERS), "u_shaped": (u_shaped, DEPTH * (2 * LEVELS + 1)),
            "unrolled_ode": (unrolled_ode, 2)}


def measured(function, *args):
    """Bytes that a call has in use at most, as Python's allocator counts them."""
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def same(a, b):
    a, b = wg.compiler.trace.tree.flatten(a)[0], wg.compiler.trace.tree.flatten(b)[0]
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_quarter_of_the_memory(name):
    function, n = PROGRAMS[name]
    weights = list(np.linspace(0.5, 1.5, n))
    plain = wg.value_and_grad(function, (0, 1))
    tight = wg.value_and_grad(function, (0, 1), memory=0.25)
    expected = plain(X, weights)
    found = tight(X, weights)
    assert same(found, expected)
    planned = tight.specialize(X, weights).memory
    peak = measured(tight, X, weights)
    assert peak <= 1.002 * planned.budget          # besides the containers that hold the results
    assert 0.9 < planned.peak / peak < 1.1
    assert planned.extra_work <= 0.4
    assert 0.9 < planned.plain_peak / measured(plain, X, weights) < 1.1
    assert planned.budget == planned.plain_peak // 4
    assert f"{planned.recomputed} applications are computed again" in tight.report()


def test_a_quarter_of_the_layers():
    """24 of the 96 layers that reverse mode keeps, with what one layer needs for itself."""
    weights = list(np.linspace(0.5, 1.5, LAYERS))
    tight = wg.value_and_grad(chain, (0, 1), memory=24 * X.nbytes + 2 ** 16)
    assert same(tight(X, weights), wg.value_and_grad(chain, (0, 1))(X, weights))
    assert tight.specialize(X, weights).memory.extra_work <= 0.4
    assert measured(tight, X, weights) <= 24 * X.nbytes + 2 ** 16


def test_recomputed_statements_are_real():
    weights = list(np.linspace(0.5, 1.5, 12))
    plain = wg.grad(chain).specialize(X, weights).source.text
    tight = wg.grad(chain, memory=0.5)
    tight(X, weights)
    again = tight.specialize(X, weights).memory.recomputed
    assert again > 0
    assert tight.source.count("np.tanh") + tight.source.count(" + 0.1") > \
        plain.count("np.tanh") + plain.count(" + 0.1")
    assert tight.graph.count("tanh") > 12


@pytest.mark.parametrize("seed", [0, 1, *[pytest.param(n, marks=pytest.mark.slow)
                                          for n in range(2, 12)]])
def test_random_programs_keep_their_bits(seed):
    rng = np.random.default_rng(seed)
    choices = rng.integers(0, 7, 14)
    partners = rng.integers(0, 100, 14)

    operations = (lambda a, b: a * b, lambda a, b: np.sin(a), lambda a, b: a - 0.5 * b,
                  lambda a, b: np.tanh(a + b), lambda a, b: np.reshape(a.reshape(4, -1).T, -1),
                  lambda a, b: np.where(a > b, a, 0.25 * b), lambda a, b: np.exp(-a * a))

    def function(x, w):
        values = [x, x * w]
        for choice, partner in zip(choices, partners, strict=True):
            values.append(operations[choice](values[-1], values[partner % len(values)]))
        return np.sum(values[-1]), values[-2]
    plain = wg.value_and_grad(function, (0, 1), has_aux=True)(X, 1.5)
    for memory in (0.85, 0.6):
        tight = wg.value_and_grad(function, (0, 1), has_aux=True, memory=memory)
        try:
            found = tight(X, 1.5)
        except BudgetError as error:
            needed = int(str(error).split("memory=")[1].split(",")[0])
            tight = wg.value_and_grad(function, (0, 1), has_aux=True, memory=needed)
            found = tight(X, 1.5)
        assert same(found, plain)
        planned = tight.specialize(X, 1.5).memory
        assert 0.9 < planned.peak / measured(tight, X, 1.5) < 1.1


def test_the_least_budget_of_the_error_is_met_and_no_less():
    weights = list(np.linspace(0.5, 1.5, 6))
    with pytest.raises(BudgetError, match=r"No plan fits into 0\.125 MiB") as error:
        wg.grad(chain, memory="128 KiB")(X, weights)
    needed = int(str(error.value).split("memory=")[1].split(",")[0])
    tight = wg.grad(chain, memory=needed)
    np.testing.assert_array_equal(tight(X, weights), wg.grad(chain)(X, weights))
    with pytest.raises(BudgetError):
        wg.grad(chain, memory=needed - 1)(X, weights)


def test_every_transform_takes_a_budget():
    weights = list(np.linspace(0.5, 1.5, 8))
    x = np.linspace(0.1, 1.0, 64)
    for transform in (wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian):
        assert same(transform(chain, memory=0.8)(x, weights), transform(chain)(x, weights))
    assert same(wg.vjp(chain, memory=0.8)(x, weights, 2.0), wg.vjp(chain)(x, weights, 2.0))
    tight = wg.grad(chain, memory=0.8)
    expected = tight(x, weights)
    again = pickle.loads(pickle.dumps(tight))
    np.testing.assert_array_equal(again(x, weights), expected)
    assert again.report() == tight.report()


def test_branches_still_hand_over():
    def function(x):
        y = np.tanh(x) * x
        z = np.sin(y) if np.sum(y) > 0 else np.cos(y)
        return np.sum(z * y * np.tanh(z))
    tight, plain = wg.grad(function, memory=0.9), wg.grad(function)
    for x in (X, -X - 3.0 * (X > 0.5)):
        np.testing.assert_array_equal(tight(x), plain(x))


@pytest.mark.parametrize(("text", "expected"), [
    ("64 MiB", 64 * 2 ** 20), ("64MiB", 64 * 2 ** 20), ("1.5 kB", 1500), ("2 GB", 2 * 10 ** 9),
    ("100", 100), ("100 B", 100), (4096, 4096), (0.25, 0.25), (None, None)])
def test_amounts(text, expected):
    assert parse_memory(text) == expected


@pytest.mark.parametrize("memory", ["", "64 pigs", "-1 MiB", 0, -5, 0.0, 1.5, float("nan"), True])
def test_amounts_that_are_none(memory):
    with pytest.raises(BudgetError, match="is no amount of memory"):
        wg.grad(chain, memory=memory)


# -- loops --------------------------------------------------------------------------------------

def counted(x, weights):
    y = wg.fori_loop(0, 200, lambda i, y: np.sin(y) * x + 0.1 * y, x)
    return np.sum(y ** 2) + weights[0].sum()


def uncounted(x, weights):
    return np.sum(wg.while_loop(lambda c: c[0] < 150, lambda c: (c[0] + 1, np.sin(c[1]) * x),
                                (0, x))[1]) + weights[0].sum()


def two_loops(x, weights):
    y, rows = wg.scan(lambda y, w: (np.sin(y) * w, np.sum(y)), x, np.linspace(0.5, 1.5, 60))
    z = wg.fori_loop(0, 90, lambda i, z: np.cos(z) * x + i * 0.01, y)
    return np.sum(z * y) + np.sum(rows)


@pytest.mark.parametrize(("function", "amount"), [
    (counted, 0.5), (counted, 0.35), (uncounted, "4 MB"), (uncounted, "2.5 MB"), (two_loops, 0.5)])
def test_loops_keep_fewer_states(function, amount):
    plain = wg.value_and_grad(function)
    tight = wg.value_and_grad(function, memory=amount)
    weights = [np.ones(3)]
    assert same(tight(X, weights), plain(X, weights))
    planned = tight.specialize(X, weights).memory
    peak = measured(tight, X, weights)
    assert peak <= 1.01 * planned.budget < 0.99 * measured(plain, X, weights)
    assert 0.9 < planned.peak / peak < 1.1
    assert planned.recomputed > 0
    assert f"{planned.recomputed} applications are computed again" in tight.report()


def test_a_loop_that_fits_is_left_alone():
    tight, plain = wg.grad(counted, memory="1 GB"), wg.grad(counted)
    assert same(tight(X, [X]), plain(X, [X]))
    assert tight.source == plain.source


def test_a_larger_budget_never_repeats_more():
    repeated = [wg.grad(counted, memory=share).specialize(X, [X]).memory.recomputed
                for share in (0.35, 0.5, 0.7, 0.95)]
    assert repeated == sorted(repeated, reverse=True)
    assert repeated[0] > repeated[-1]


def test_numbers_of_states_that_the_user_gave_stay():
    def function(x):
        return np.sum(wg.fori_loop(0, 50, lambda i, y: np.sin(y) * x, x, snapshots=4))
    assert "Snapshots(4, " in wg.grad(function, memory=1.0).specialize(X).source.text
    with pytest.raises(BudgetError, match="No plan fits"):
        wg.grad(function, memory=0.5)(X)


def test_the_least_budget_with_loops_is_met_and_no_less():
    with pytest.raises(BudgetError, match="No plan fits") as error:
        wg.grad(counted, memory=1000)(X, [X])
    least = int(re.search(r"\((\d+) bytes\)", str(error.value))[1])
    planned = wg.grad(counted, memory=least)
    planned(X, [X])
    assert measured(planned, X, [X]) <= 1.01 * least
    with pytest.raises(BudgetError):
        wg.grad(counted, memory=least - 1)(X, [X])


def test_branches_have_no_choice():
    def function(x, a):
        return np.sum(wg.cond(a > 0, lambda: np.sin(x) * x, lambda: np.cos(x)))
    plain = wg.grad(function)
    fits = wg.grad(function, memory="1 GB")
    assert same(fits(X, 1.0), plain(X, 1.0))
    with pytest.raises(BudgetError, match="No plan fits"):
        wg.grad(function, memory=100)(X, 1.0)


def test_refusals():
    with pytest.raises(BudgetError, match="dense derivatives only"):
        wg.jacobian(np.sin, sparse=True, memory=0.5)
    inner = wg.grad(lambda x: np.sum(np.sin(x) * x), memory=0.5)
    with pytest.raises(BudgetError, match="outermost transform"):
        wg.grad(lambda x: np.sum(inner(x)))(X)
