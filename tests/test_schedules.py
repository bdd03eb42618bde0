"""Which states of a loop are kept for the way back: counts of steps, memory, files."""

import itertools
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import wengert as wg

P = np.array([0.3, 0.7, 1.1])


class Counting:
    """NumPy for a generated module, with the calls of ``exp`` counted."""

    def __init__(self):
        self.count = 0

    def exp(self, x):
        self.count += 1
        return np.exp(x)

    def __getattr__(self, name):
        return getattr(np, name)


def counted(source, name, *args):
    """The result of a generated function and how often it computed an exponential."""
    counting = Counting()
    module = {"np": counting, "__name__": "generated"}
    exec(source.replace("import numpy as np", ""), module)
    return module[name](*args), counting.count


def chain(n, snapshots=None):
    def f(x):
        return np.sum(wg.fori_loop(0, n, lambda i, y: 0.9 * np.exp(-y) * x, x, snapshots=snapshots))
    return f


def chain_gradient(n, x):
    states = [x]
    for _ in range(n):
        states.append(0.9 * np.exp(-states[-1]) * x)
    ct, total = np.ones_like(x), 0.0
    for y in reversed(states[:-1]):
        ct, total = -ct * 0.9 * np.exp(-y) * x, total + ct * 0.9 * np.exp(-y)
    return ct + total


def test_thousand_steps_with_twenty_snapshots_take_the_binomial_optimum():
    for transform, name in ((wg.grad, "f_grad"), (wg.value_and_grad, "f_value_and_grad")):
        compiled = transform(chain(1000, 20))
        compiled(P)
        found, steps = counted(compiled.source, name, P)
        assert steps == 3747
        assert len(compiled.source.splitlines()) < 200
        slope = found if transform is wg.grad else found[1]
        np.testing.assert_allclose(slope, chain_gradient(1000, P), rtol=1e-12)


def optimal(steps, slots, known={}):  # noqa: B006  (a memory)
    """Fewest steps to repeat, by the recursion that defines it."""
    if steps <= 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    if (steps, slots) not in known:
        known[steps, slots] = min(m + optimal(steps - m, slots - 1) + optimal(m, slots)
                                  for m in range(1, steps))
    return known[steps, slots]


@pytest.mark.parametrize(("n", "slots"), [(2, 1), (7, 1), (9, 2), (30, 3), (57, 5), (64, 9),
                                          (40, 60)])
def test_any_schedule_is_optimal(n, slots):
    compiled = wg.grad(chain(n, slots))
    compiled(P)
    found, steps = counted(compiled.source, "f_grad", P)
    assert steps == optimal(n, slots) + n
    np.testing.assert_allclose(found, chain_gradient(n, P), rtol=1e-12)


def peak(function, *args):
    for _ in range(2):
        function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_with_snapshots_does_not_depend_on_the_number_of_steps():
    x = np.linspace(0.1, 1.0, 2000)
    few, many = (peak(wg.grad(chain(n, 8)), x) for n in (60, 600))
    assert many < 1.1 * few
    assert many < 20 * x.nbytes


def test_without_snapshots_memory_grows_as_the_root_of_the_number_of_steps():
    x = np.linspace(0.1, 1.0, 10_000)
    few, many = (peak(wg.grad(chain(n)), x) for n in (100, 1600))
    assert many < 4.4 * few
    assert many < 1.2 * np.sqrt(2 * 1600) * x.nbytes + 12 * x.nbytes


def relaxation(omega, b, tolerance=1e-9):
    """Damped relaxation of a Poisson equation to convergence, with the number of steps."""
    def body(state):
        u, _, n = state
        new = np.zeros_like(u)
        new[1:-1] = (u[:-2] + u[2:] + b[1:-1]) / 2
        new = u + omega * (new - u)
        return new, np.max(np.abs(new - u)), n + 1
    return wg.while_loop(lambda s: s[1] > tolerance, body, (0.0 * b, np.inf, 0))


def test_relaxation_to_convergence_keeps_few_states():
    b = np.linspace(0.1, 1.0, 12)

    def loss(b, omega):
        return np.sum(relaxation(omega, b)[0] ** 2)
    # The fixed point solves a linear system, whose derivative is known.
    K = 2 * np.eye(10) - np.eye(10, k=1) - np.eye(10, k=-1)
    u = np.linalg.solve(K, b[1:-1])
    slope = wg.grad(loss)(b, 0.8)
    np.testing.assert_allclose(slope[1:-1], np.linalg.solve(K, 2 * u), rtol=1e-6)


def test_memory_of_a_while_loop_grows_no_faster_than_the_root_of_its_steps():
    def f(x, n):
        def body(state):
            i, y = state
            return i + 1, 0.9 * np.exp(-y) * x
        return np.sum(wg.while_loop(lambda s: s[0] < n, body, (0, x))[1])
    x = np.linspace(0.1, 1.0, 20_000)
    gradient = wg.grad(f)
    few, many = (peak(gradient, x, n) for n in (100, 1600))
    assert many < 4.4 * few
    x = np.linspace(0.1, 1.0, 3)
    np.testing.assert_allclose(gradient(x, 500), chain_gradient(500, x), rtol=1e-12)


@pytest.mark.slow
def test_hundred_thousand_steps_in_bounded_memory():
    x = np.linspace(0.1, 1.0, 100)
    gradient = wg.grad(chain(100_000, 50))
    assert peak(gradient, x) < 80 * x.nbytes + 100_000
    np.testing.assert_allclose(gradient(x), chain_gradient(100_000, x), rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 33, 100])
def test_an_online_schedule_gives_every_state_once(n):
    """The class that modules bring along, for itself, with as few states as two."""
    from_module = {}
    compiled = wg.grad(chain(20, 3))
    compiled(P)
    exec(compiled.source, from_module)
    for slots, steps in itertools.product((1, 2, 5, 200), (None, n)):
        saved = from_module["Snapshots"](slots, steps)
        state = 1
        for _ in range(n):
            saved.keep(state)
            state = 3 * state % 1009
        other = saved.copy()
        for one in (other, saved):
            found = list(one.backwards(lambda i, s: 3 * s % 1009))
            assert found == [(i, pow(3, i, 1009)) for i in reversed(range(n))]


@pytest.mark.parametrize("options", [
    {"on_disk": 7}, {"on_disk": 5, "snapshots": 2}, {"on_disk": 1, "snapshots": 3},
    {"on_disk": 90, "snapshots": 1}])
def test_states_on_disk_give_the_same_gradient(options):
    def f(x, **options):
        def body(i, state):
            count, y, z = state
            return count + 1, 0.9 * np.exp(-y) * x + z / (i + count), np.cos(z * 0.5)
        return np.sum(wg.fori_loop(1, 60, body, (0, x, 1.0), **options)[1])
    found = wg.hessian(lambda x: f(x, **options))(P)
    np.testing.assert_allclose(found, wg.hessian(f)(P), rtol=1e-11)


def test_states_on_disk_take_no_memory():
    x = np.linspace(0.1, 1.0, 5000)

    def f(x):
        return np.sum(wg.fori_loop(0, 400, lambda i, y: 0.9 * np.exp(-y) * x, x, on_disk=40))
    np.testing.assert_allclose(wg.grad(f)(x), chain_gradient(400, x), rtol=1e-11)
    assert peak(wg.grad(f), x) < 16 * x.nbytes          # √(2·10) between those on disk


KILLED = """
import numpy as np, wengert as wg, sys

def step(i, y):
    return 0.9 * np.exp(-y) * x

x = np.linspace(0.1, 1.0, 1000)
gradient = wg.grad(lambda y: np.sum(wg.fori_loop(0, 100_000_000, step, y, on_disk=1000)))
gradient.specialize(x)
print("running", flush=True)
gradient(x)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left_of_a_killed_run(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", KILLED], env=environment, text=True,
                          stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == "running\n"
        deadline = time.monotonic() + 60
        mapped = ""
        while "/#" not in mapped and "(deleted)" not in mapped and time.monotonic() < deadline:
            time.sleep(0.05)
            mapped = Path(f"/proc/{run.pid}/maps").read_text()
        assert str(tmp_path) in mapped                  # it is writing states by now
        assert list(tmp_path.iterdir()) == []
        os.kill(run.pid, signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []
