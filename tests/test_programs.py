"""Every program of the corpus in every mode, each result against an independent one."""

import ast
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from programs import PROGRAMS
from wengert.codegen.numpy_source import numpy_source
from wengert.compiler.interpret import interpret
from wengert.compiler.passes.dead import remove_dead
from wengert.compiler.passes.pipeline import PIPELINE, PREPARE, run
from wengert.compiler.passes.simplify import simplify
from wengert.compiler.text import parse
from wengert.compiler.trace.stage import is_traceable
from wengert.compiler.trace.tree import flatten, unflatten
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.vjp import vjp
from wengert.compiler.verify import verify

GOLDEN = Path(__file__).parent / "golden"
SHOWN = ("linear_regression", "logistic_loss", "softmax_cross_entropy", "mlp", "layer_norm",
         "rosenbrock", "lorenz", "heat_step", "lotka_volterra_rk4", "pairwise_distances",
         "gather_repeats", "nested_arguments", "single_precision")

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
smooth = pytest.mark.parametrize("program", [p for p in PROGRAMS if p.order > 1],
                                 ids=lambda p: p.name)


def leaves_of(tree):
    return [np.asarray(leaf) for leaf in flatten(tree)[0]]


def wrt(program):
    """The differentiated arguments, as the tuple of trees that ``argnums`` selects."""
    return tuple(program.args[i] for i in program.argnums)


def with_wrt(program, values):
    """All arguments, with other values for the differentiated ones."""
    args = list(program.args)
    for i, value in zip(program.argnums, values, strict=True):
        args[i] = value
    return args


def like(tree, seed):
    """Random numbers in the structure of a tree; of its dtypes, floats where it has none."""
    rng = np.random.default_rng(seed)
    leaves, spec = flatten(tree)
    kinds = [np.asarray(v).dtype for v in leaves]
    return unflatten(spec, [
        np.asarray(rng.uniform(0.5, 1.5, np.shape(v)) * rng.choice([-1, 1], np.shape(v)),
                   k if k.kind == "f" else float)[()] for v, k in zip(leaves, kinds, strict=True)])


def dot(a, b):
    """Inner product of two trees, in double precision."""
    return sum(float(np.sum(np.asarray(x, float) * y))
               for x, y in zip(leaves_of(a), leaves_of(b), strict=True))


def tolerance(program, double, single):
    narrow = any(v.dtype == np.float32 for v in leaves_of(program.args))
    return single if narrow else double


def assert_close(got, expected, tol):
    for a, b in zip(leaves_of(got), leaves_of(expected), strict=True):
        assert a.shape == b.shape
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * scale)


def widened(tree):
    leaves, spec = flatten(tree)
    return unflatten(spec, [np.asarray(v, float) if np.asarray(v).dtype.kind == "f" else v
                            for v in leaves])


def differences(function, values, step):
    """Central differences of a function of a tree, which returns a flat array."""
    leaves, spec = flatten(widened(values))
    flat = np.concatenate([np.ravel(v) for v in leaves])
    cuts = np.cumsum([v.size for v in leaves])[:-1]

    def at(x):
        parts = [p.reshape(v.shape)[()] for p, v in zip(np.split(x, cuts), leaves, strict=True)]
        return function(unflatten(spec, parts))
    columns = []
    for i, value in enumerate(flat):
        h = np.zeros_like(flat)
        h[i] = step * max(1.0, abs(value))
        columns.append((at(flat + h) - at(flat - h)) / (2 * h[i]))
    return np.stack(columns, axis=-1)


def flat(tree):
    return np.concatenate([np.ravel(v) for v in leaves_of(tree)])


def rows(blocks, out, inputs):
    """A nested Jacobian as one matrix, rows ordered as the outputs, columns as the inputs."""
    outs, ins = leaves_of(out), leaves_of(inputs)
    parts = leaves_of(blocks)
    assert len(parts) == len(outs) * len(ins)
    grid = [[parts[i * len(ins) + j].reshape(o.size, x.size) for j, x in enumerate(ins)]
            for i, o in enumerate(outs)]
    return np.block(grid)


def scalarized(program):
    """The program as a function with a scalar result, by random weights."""
    weights = like(program.function(*program.args), 1)

    def weighted(*args):
        total = 0.0
        out = flatten(program.function(*args))[0]
        for w, v in zip(flatten(weights)[0], out, strict=True):
            total = total + np.sum(w * v)
        return total
    return weighted


# -- numbers ------------------------------------------------------------------------------------


@each_program
def test_value(program):
    got, expected = wg.compile(program.function)(*program.args), program.function(*program.args)
    assert flatten(got)[1] == flatten(expected)[1]
    for a, b in zip(leaves_of(got), leaves_of(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert_close(got, expected, tolerance(program, 1e-13, 1e-6))


@each_program
def test_gradient_against_differences(program):
    function = scalarized(program)
    ct = like(program.function(*program.args), 1)
    _, found = wg.vjp(program.function, program.argnums)(*program.args, ct)

    def weighted(values):
        return np.ravel(function(*with_wrt(program, values)))
    expected = differences(weighted, wrt(program), 1e-6)[0]
    got = flat(found)
    tol = tolerance(program, 1e-7, 1e-4)
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol * max(1.0, np.abs(expected).max(
        initial=0.0)))


@each_program
def test_forward_and_reverse(program):
    f, args, argnums = program.function, program.args, program.argnums
    out = f(*args)
    forward = wg.jacobian(f, argnums, mode="forward")(*args)
    reverse = wg.jacobian(f, argnums, mode="reverse")(*args)
    tol = tolerance(program, 1e-12, 2e-5)
    assert_close(forward, reverse, tol)
    t, ct = like(wrt(program), 2), like(out, 3)
    value, t_out = wg.jvp(f, argnums)(*args, t)
    value_too, cts = wg.vjp(f, argnums)(*args, ct)
    assert_close(value, out, tol)
    assert_close(value_too, out, tol)
    matrix = rows(forward, out, wrt(program))
    np.testing.assert_allclose(flat(t_out), matrix @ flat(t), rtol=10 * tol, atol=10 * tol)
    np.testing.assert_allclose(flat(cts), flat(ct) @ matrix, rtol=10 * tol, atol=10 * tol)
    np.testing.assert_allclose(dot(ct, t_out), dot(cts, t), rtol=10 * tol, atol=10 * tol)


@each_program
def test_scalar_transforms(program):
    f, args, argnums = scalarized(program), program.args, program.argnums
    reverse = wg.grad(f, argnums)(*args)
    tol = tolerance(program, 1e-12, 2e-5)
    assert_close(wg.grad(f, argnums, mode="forward")(*args), reverse, tol)
    value, again = wg.value_and_grad(f, argnums)(*args)
    assert_close(again, reverse, tol)
    assert_close(value, f(*args), tol)
    for derivative, value in zip(leaves_of(reverse), leaves_of(wrt(program)), strict=True):
        assert (derivative.shape, derivative.dtype) == (value.shape, value.dtype)


@smooth
def test_second_order(program):
    f, args, argnums = scalarized(program), program.args, program.argnums
    over_reverse = wg.hessian(f, argnums, mode="forward")(*args)
    reverse_reverse = wg.hessian(f, argnums, mode="reverse")(*args)
    tol = tolerance(program, 1e-11, 2e-4)
    assert_close(over_reverse, reverse_reverse, tol)
    values = wrt(program)
    matrix = rows(over_reverse, values, values)
    np.testing.assert_allclose(matrix, matrix.T, rtol=tol, atol=tol * max(1, np.abs(matrix).max(
        initial=0.0)))
    v = like(values, 4)
    product = flat(wg.hvp(f, argnums)(*args, v))
    np.testing.assert_allclose(product, matrix @ flat(v), rtol=tol, atol=tol * max(
        1, np.abs(matrix).max(initial=0.0)))
    gradient = wg.grad(f, argnums)
    expected = differences(lambda x: flat(gradient(*with_wrt(program, x))), values, 1e-5)
    rough = tolerance(program, 1e-6, 1e-3)
    np.testing.assert_allclose(matrix, expected, rtol=rough, atol=rough * max(
        1, np.abs(expected).max(initial=0.0)))


# -- graphs -------------------------------------------------------------------------------------


def inputs_of(program):
    leaves = flatten((program.args, {}))[0]
    return [leaf for leaf in leaves if is_traceable(leaf)]


def positions(program):
    """Which of the graph's inputs are differentiated."""
    sizes = [[is_traceable(v) for v in flatten(a)[0]].count(True) for a in program.args]
    return [j for i in program.argnums
            for j in range(sum(sizes[:i]), sum(sizes[:i + 1]))]


def graphs(program):
    """The traced graph, its reverse and its forward derivative."""
    traced = wg.trace(program.function)(*program.args)
    prepared = run(traced, PREPARE)
    return traced, vjp(prepared, positions(program)), jvp(prepared, positions(program))


@each_program
def test_text_round_trip_of_every_stage(program):
    for graph in graphs(program):
        stages = [graph]
        for one in PIPELINE:
            stages.append(verify(one(stages[-1])))
        for stage in stages:
            assert parse(str(stage)) == stage
            assert str(parse(str(stage))) == str(stage)
    for one in PIPELINE:
        assert run(graph, stop_after=one.__name__) in stages


@each_program
def test_simplification_settles(program):
    for graph in graphs(program):
        once = remove_dead(simplify(graph))
        twice = remove_dead(simplify(once))
        assert str(twice) == str(once)


@each_program
def test_interpreter_equals_generated_code(program):
    f, args = program.function, program.args
    ct, t = like(f(*args), 3), like(wrt(program), 2)
    for compiled, own in ((wg.compile(f), args), (wg.vjp(f, program.argnums), (*args, ct)),
                          (wg.jvp(f, program.argnums), (*args, t))):
        compiled(*own)
        inputs = [v for v in flatten((own, {}))[0] if is_traceable(v)]
        (generated,) = compiled.programs
        result = generated.raw(*[v.copy() if isinstance(v, np.ndarray) else v for v in inputs])
        expected = interpret(generated.graph, *inputs)
        found = list(result) if isinstance(result, tuple) else [result]
        assert_close(found, expected, tolerance(program, 1e-14, 1e-6))
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype


@each_program
def test_passes_keep_the_values(program):
    for graph in graphs(program):
        values = list(inputs_of(program))
        rng = np.random.default_rng(5)
        values += [np.asarray(rng.standard_normal(n.type.shape), n.type.dtype)[()]
                   for n in graph.inputs[len(values):]]
        expected = interpret(graph, *values)
        for one in PIPELINE:
            graph = one(graph)
            assert_close(interpret(graph, *values), expected, tolerance(program, 1e-12, 1e-5))


# -- source -------------------------------------------------------------------------------------


def sources(program):
    """Modules of the program, its gradient and its tangent, from newly traced graphs."""
    return [numpy_source(run(graph)).text for graph in graphs(program)]


@each_program
def test_source_is_deterministic(program):
    assert sources(program) == sources(program)


@each_program
def test_source_is_tidy(program):
    for text in sources(program):
        tree = ast.parse(text)
        compile(text, "generated", "exec")
        assert imported(tree) <= {"numpy", "scipy", "scipy.special", "scipy.linalg"}
        assert not unread(tree), text
        assert all(len(line) <= 140 for line in text.splitlines()), text


def imported(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return names


def unread(tree):
    """Assigned names, and imports, that are never read."""
    stored, read = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else stored).add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            stored |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {name for name in stored - read if not name.startswith("_")}


# -- golden files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name, update_golden):
    """The traced graph, the gradient's graph and its source are those that were reviewed."""
    program = next(p for p in PROGRAMS if p.name == name)
    traced, derivative, _ = graphs(program)
    if len(traced.outputs) == 1 and traced.outputs[0].type.shape == ():
        derivative = vjp(run(traced, PREPARE), positions(program), unit=True)
    final = run(derivative)
    made = {"traced.graph": str(traced), "gradient.graph": str(final),
            "gradient.py": numpy_source(final).text.rstrip("\n")}
    folder = GOLDEN / name
    if update_golden:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in made.items():
            (folder / file).write_text(text + "\n", encoding="utf-8")
    for file, text in made.items():
        assert (folder / file).read_text(encoding="utf-8") == text + "\n", file
