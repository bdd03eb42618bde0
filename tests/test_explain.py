"""What ``explain`` predicts, beside what is measured, and what rules are said to keep."""

import tracemalloc

import numpy as np
import pytest
import wengert as wg
from programs import PROGRAMS
from wengert.compiler.graph import Graph
from wengert.compiler.interpret import interpret
from wengert.compiler.passes.pipeline import PREPARE, run
from wengert.compiler.trace.tree import flatten, unflatten
from wengert.compiler.transforms import derive
from wengert.runtime.explain import explain

# Programs of the corpus that take arrays of any size, and by how much their axes are stretched.
STRETCHED = {
    "pairwise_distances": 16, "matrix_chain": 64, "batched_matmul": 16, "kronecker": 16,
    "logsumexp_by_hand": 128, "logsumexp_columns": 64, "max_and_min": 4000,
    "cumulative_products": 16, "single_precision_layer": 400, "complex_inside": 4000, "mlp": 64,
    "attention": 64, "gaussian_mixture": 16, "k_means": 16, "embedding": 64,
    "correlation": 4000, "heat_step": 4000, "heat_steps_in_place": 4000,
    "periodic_laplacian": 64, "burgers": 4000, "gray_scott": 64, "total_variation": 64,
    "moving_average": 4000, "rbf_kernel": 400, "quadratic_form": 400, "vector_times_stack": 64,
    "damped_steps": 20_000, "two_carried": 20_000, "running_filter": 20_000,
    "branch_in_a_loop": 20_000, "loop_in_a_loop": 20_000, "single_precision_loop": 20_000,
    "snapshots_of_states": 20_000, "loop_by_index": 40_000, "filled_by_index": 40_000,
    "adaptive_steps": 20_000, "dynamic_count": 20_000, "checkpointed_layers": 100}
# Steps of those loops that are not counted.
TRIPS = {"dynamic_count": 4, "adaptive_steps": 4}
LARGE = 2 ** 20


def stretched(args, factor):
    """The arguments with all axes of all arrays so many times as long."""
    leaves, spec = flatten(args)
    out = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            leaf = np.tile(leaf, [factor] * leaf.ndim)
        out.append(leaf)
    return unflatten(spec, out)


def measured(function, *args):
    """Bytes that a call has in use at most, its results included."""
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ones_like(tree):
    leaves, spec = flatten(tree)
    return unflatten(spec, [np.ones(np.shape(v), np.asarray(v).dtype)[()] for v in leaves])


@pytest.mark.parametrize("name", STRETCHED)
def test_peaks_of_the_corpus(name):
    (program,) = [p for p in PROGRAMS if p.name == name]
    args = stretched(program.args, STRETCHED[name])
    found = explain(program.function, *args, argnums=program.argnums, trips=TRIPS.get(name, 100))
    value = wg.compile(program.function)
    result = value(*args)
    if np.ndim(result) == 0 and not isinstance(result, (tuple, dict)):
        pulled, operand = wg.grad(program.function, program.argnums), ()
    else:
        pulled, operand = wg.vjp(program.function, program.argnums), (ones_like(result),)
    peaks = [(found.gradient.peak, measured(pulled, *args, *operand)),
             (found.value.peak, measured(value, *args))]
    assert peaks[0][1] >= LARGE
    for predicted, actual in peaks:
        if actual >= LARGE:
            assert 0.9 < predicted / actual < 1.1, (predicted, actual)


X = np.linspace(-1.0, 1.0, 1000)


@pytest.mark.parametrize(("function", "op", "keeps", "size"), [
    (lambda x: np.maximum(x, 0.0), "maximum", ("mask",), X.size),
    (lambda x: x + 1.0, "add", (), 0),
    (lambda x: np.sin(x), "sin", ("operand 0",), X.nbytes),
    (lambda x: np.tanh(x), "tanh", ("result",), X.nbytes),
    (lambda x: np.exp(x), "exp", ("result",), X.nbytes),
    (lambda x: x * np.cos(x), "mul", ("operand 0", "operand 1"), X.nbytes),
    (lambda x: x @ np.cos(x), "matmul", ("operand 0", "operand 1"), X.nbytes),
    (lambda x: np.sum(x), "sum", (), 0),
    (lambda x: x[::2], "getitem", (), 0),
    (lambda x: 2.0 * x, "mul", (), 0)])
def test_what_rules_keep(function, op, keeps, size):
    (found,) = [one for one in explain(function, X).saves if one.op == op]
    assert found.keeps == keeps
    assert found.bytes == size            # of x * cos(x), x is what cos keeps already
    assert f"{op} (×1) keeps" in str(found)


def test_work_is_counted():
    a, b = np.ones((30, 40)), np.ones((40, 50))
    assert explain(lambda a, b: a @ b, a, b).value.flops == 2 * 30 * 40 * 50
    assert explain(lambda x: np.sum(x * x + x), X).value.flops == 3 * X.size
    found = explain(lambda x: np.sum(np.tanh(x) * x), X)
    assert found.value.nodes == 3
    assert found.value.bytes == 2 * X.nbytes + 8
    assert found.gradient.flops > found.value.flops
    assert found.value.seconds > 0
    assert found.jacobian is None


@pytest.mark.parametrize(("function", "shape", "direction"), [
    (lambda x: x[1:] * x[:-1], (30,), "reverse"),
    (lambda x: np.concatenate([x, x ** 2]), (12,), "forward"),
    (lambda x: x[1:-1] ** 2 - x[2:] * x[:-2], (20,), "reverse")])
def test_sweeps_are_those_of_the_programs(function, shape, direction):
    x = np.linspace(0.5, 1.5, *shape)
    found = explain(function, x).jacobian
    assert found.direction == direction
    # The unit vectors with which the dense sweeps start, counted in their graph.
    graph = derive.jacobian(run(wg.trace(function)(x), PREPARE), [0], [0])
    units = [np.shape(interpret(Graph("u", graph.inputs, (n,), graph.nodes), x)[0])[0]
             for n in graph.nodes if n.op.name == "where" and n.args[0].op.name == "constant"]
    assert max(units) == found.dense
    assert found.dense == (function(x).size if direction == "reverse" else x.size)
    sparse = wg.jacobian(function, sparse=True)
    sparse(x)
    assert found.colors == sparse.colors


def test_the_text():
    text = str(explain(lambda x: np.sum(np.maximum(x, 0.0) * x), np.ones(2 ** 17)))
    assert text.splitlines()[0].endswith("s")
    assert "peak 1 MiB" in text
    assert "maximum (×1) keeps mask, 0.125 MiB: its derivative only asks which" in text
    assert "sweeps" in str(explain(lambda x: x ** 2, X))
