"""Compiled C against NumPy: the corpus, every row, special values, threads."""

import numpy as np
import pytest
import wengert as wg
from check import base_cases, graph_of, narrow_cases, whole_cases
from native_harness import QUICK, QUICKEST, close, load_many, support
from programs import PROGRAMS
from test_programs import leaves_of, like
from wengert.codegen.kernel_interpret import interpret_kernel
from wengert.codegen.lower import lower
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.table import TABLE
from wengert.compiler.passes.computable import is_computable
from wengert.compiler.passes.fuse import KernelOp, fuse
from wengert.compiler.passes.pipeline import run
from wengert.compiler.verify import verify


@pytest.fixture
def restored_threads():
    """The number of threads is what it was, afterwards."""
    yield
    support(1, 150_000)


def cases():
    """Name, graph and flat arguments of value and vector-Jacobian product of each program."""
    for program in PROGRAMS:
        value = wg.compile(program.function).specialize(*program.args)
        yield program.name, value.graph, leaves(program.args, value.graph)
        if program.argnums:
            ct = like(program.function(*program.args), 5)
            product = wg.vjp(program.function, program.argnums)
            graph = product.specialize(*program.args, ct).graph
            yield f"{program.name} vjp", graph, leaves((*program.args, ct), graph)


def leaves(args, graph):
    """The traced arguments as the graph's inputs."""
    found = []
    for value, node in zip(leaves_of(args), graph.inputs, strict=True):
        found.append(value.item() if node.type.weak else value[()] if value.ndim == 0 else value)
    return found


@pytest.mark.parametrize("tiny", [False, True], ids=["whole", "chunks"])
def test_programs_are_the_same_in_c(tiny, monkeypatch, restored_threads):
    named = [one for one in cases() if not tiny or one[0].endswith("vjp")]
    loaded = load_many([graph for _, graph, _ in named], monkeypatch,
                       flags=QUICKEST if tiny else QUICK, tiny_chunks=tiny)
    assert sum(bool(f.kernels) for f in loaded) > 0.9 * len(loaded)
    for (name, graph, args), f in zip(named, loaded, strict=True):
        with np.errstate(all="ignore"):
            expected = interpret(graph, *args)
        results = []
        for threads in (1, 2, 3, 2):
            support(threads)
            results.append([np.asarray(v) for v in f(*args)])
        close(results[0], [np.asarray(v) for v in expected], name)
        for again in results[1:]:
            for a, b in zip(again, results[0], strict=True):
                assert a.tobytes() == b.tobytes(), f"{name} depends on the number of threads"


def test_kernels_are_interpreted_alike(monkeypatch):
    for name, graph, args in list(cases())[::3]:
        whole = verify(fuse(graph))
        with np.errstate(all="ignore"):
            close([np.asarray(v) for v in interpret(whole, *args)],
                  [np.asarray(v) for v in interpret(graph, *args)], name)
        monkeypatch.setattr("wengert.codegen.chunks.CHUNK_WORK", 1)
        for node in whole.nodes:
            if isinstance(node.op, KernelOp):
                given = [np.asarray(like(np.ones(n.type.shape), 3) if n.type.dtype.kind == "f"
                                    else np.zeros(n.type.shape, n.type.dtype), n.type.dtype)[()]
                         for n in node.op.body.inputs]
                with np.errstate(all="ignore"):
                    close(interpret_kernel(lower(node.op.body), given),
                          interpret(node.op.body, *given), name, double=1e-11)


def test_rows_are_the_same_in_c(monkeypatch):
    rng = np.random.default_rng(3)
    named = []
    for name, op in sorted(TABLE.items()):
        for case in base_cases(op, rng):
            for one in (case, *list(narrow_cases(case))[:2], *list(whole_cases(case))[::2]):
                try:
                    graph = graph_of(op, one)
                except (TypeError, ValueError, KeyError, NotImplementedError):
                    continue
                if all(n.type is not None and is_computable(n) for n in graph.nodes
                       if n.args) and graph.nodes[-1].args:
                    named.append((f"{name} {one}", graph, one.values))
    assert len(named) > 500
    loaded = load_many([graph for _, graph, _ in named], monkeypatch, flags=QUICKEST)
    for (name, graph, args), f in zip(named, loaded, strict=True):
        given = [v[()] if np.ndim(v) == 0 and isinstance(v, np.ndarray) else v for v in args]
        with np.errstate(all="ignore"):
            expected = interpret(graph, *given)
        close([np.asarray(v) for v in f(*given)], [np.asarray(v) for v in expected], name)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.0, 1e-310, -1e300])
PAIRS = tuple(np.repeat(SPECIAL, len(SPECIAL))), tuple(np.tile(SPECIAL, len(SPECIAL)))


def test_special_values_are_numpys(monkeypatch):
    x, y = (np.concatenate([np.array(v), np.array(v)[:5]]) for v in PAIRS)
    one = ("sqrt", "abs", "sign", "floor", "ceil", "trunc", "rint", "isnan", "isinf",
           "isfinite", "signbit", "square", "reciprocal", "neg", "fabs")
    two = ("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "less", "less_equal",
           "equal", "not_equal", "copysign", "fmod", "mod", "floor_divide", "heaviside",
           "logical_and", "logical_or", "logical_xor")
    for dtype in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            values = (x.astype(dtype), y.astype(dtype))
        functions = [(n, values[:1]) for n in one] + [(n, values) for n in two]
        graphs = [graph_of(TABLE[n], Args(v)) for n, v in functions]
        for (name, args), f, graph in zip(functions, load_many(graphs, monkeypatch), graphs,
                                          strict=True):
            with np.errstate(all="ignore"):
                expected, = interpret(graph, *args)
            got, = f(*args)
            same = (got == expected) | (np.isnan(got) & np.isnan(expected))
            if name in ("maximum", "minimum", "fmax", "fmin"):      # either zero
                assert same.all(), (name, dtype, x[~same], y[~same])
                continue
            same &= np.isnan(expected) | (np.signbit(got.astype(float))
                                          == np.signbit(expected.astype(float)))
            assert same.all(), (name, dtype, x[~same], y[~same], got[~same], expected[~same])


class Args:
    """Operands of one application, without parameters."""

    def __init__(self, values):
        self.values = values
        self.params = {}


def test_functions_are_accurate(monkeypatch):
    names = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "sin", "cos", "tan",
             "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
             "arctanh")
    rng = np.random.default_rng(0)
    arguments = []
    for name in names:
        (low, high), = TABLE[name].domain
        arguments.append(rng.uniform(low, high, 4001))
    graphs = [graph_of(TABLE[n], Args((x,))) for n, x in zip(names, arguments, strict=True)]
    for name, x, f in zip(names, arguments, load_many(graphs, monkeypatch, flags=FULL),
                          strict=True):
        got, = f(x)
        exact = TABLE[name].call(x.astype(np.longdouble))
        ulps = np.abs((got - exact) / np.spacing(np.abs(got)))
        assert ulps.max() <= 4.0, name


FULL = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math",
        "-ffp-contract=off", "-fwrapv")


def test_fused_graphs_keep_their_meaning_at_every_stage():
    def f(x, w):
        h = np.tanh(x @ w)
        return np.sum(h * h) + np.sum(x)
    graph = run(wg.grad(f, argnums=(0, 1)).specialize(np.ones((3, 2)), np.ones((2, 4))).graph)
    whole = verify(fuse(graph))
    assert whole.count("matmul") == graph.count("matmul")
    assert sum(isinstance(n.op, KernelOp) for n in whole.nodes) == 2
