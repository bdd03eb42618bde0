"""Reuse of memory never changes an answer: with and without, all results are bitwise equal.

The proof in ``codegen/overwrites.py`` runs on every source with reuse that any test makes. Here it
is put to the test itself: what it lets pass computes the same, what is planted is found.
"""

import contextlib
import dataclasses
import itertools
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from agreement import same
from check import base_cases, graph_of
from hypothesis import assume, given, settings
from programs import PROGRAMS
from test_random_programs import FIXED, programs, run
from wengert.codegen import emit
from wengert.codegen.numpy_source import numpy_source
from wengert.codegen.overwrites import check_overwrites
from wengert.codegen.reuse import array_source
from wengert.codegen.source import Source
from wengert.compiler.errors import MutationError, VerifyError
from wengert.compiler.ops.table import TABLE
from wengert.compiler.trace.tree import flatten, unflatten
from wengert.runtime.load_python import load

ROOT = Path(__file__).resolve().parents[1]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


@contextlib.contextmanager
def forced(reuse):
    """All arrays count as large, or none does; gives the list of sources that are made."""
    kept, made = emit.array_source, []

    def source(graph, annotate=True):
        made.append(array_source(graph, annotate, reuse))
        return made[-1]
    emit.array_source = source
    try:
        yield made
    finally:
        emit.array_source = kept


def results(transform, function, reuse, *calls, **options):
    """Flat results of some calls, and the sources, with reuse forced or off."""
    with forced(reuse) as made, np.errstate(all="ignore"):
        one = transform(function, lane="array", **options)
        return [leaf for args in calls for leaf in flatten(one(*args))[0]], made


def assert_same(transform, function, *calls, **options):
    """With reuse and without: bitwise the same, lying in memory the same way."""
    on, made = results(transform, function, True, *calls, **options)
    off, _ = results(transform, function, False, *calls, **options)
    for a, b in zip(on, off, strict=True):
        assert same(a, b), made[-1].text
        assert np.asarray(a).strides == np.asarray(b).strides, made[-1].text
    return made


def by_columns(args):
    """The same arguments with arrays that lie in memory by columns."""
    leaves, spec = flatten(args)
    return unflatten(spec, [np.asfortranarray(v) if np.ndim(v) > 1 else v for v in leaves])


# -- programs ---------------------------------------------------------------------------------


@each_program
def test_values_of_programs(program):
    assert_same(wg.compile, program.function, program.args, by_columns(program.args))


@each_program
def test_reverse_mode_of_programs(program):
    assert_same(wg.jacobian, program.function, program.args, by_columns(program.args),
                argnums=program.argnums, mode="reverse")


@pytest.mark.slow
@each_program
def test_forward_mode_of_programs(program):
    assert_same(wg.jacobian, program.function, program.args, by_columns(program.args),
                argnums=program.argnums, mode="forward")


def check_random(program):
    source, args = program
    f = run(source)
    given_args = [a.copy() for a in args]
    try:
        assert_same(wg.jacobian, f, given_args, argnums=(0, 1), mode="reverse")
    except MutationError as error:
        assume("how the array lies in memory" not in str(error))
        raise
    for mine, theirs in zip(given_args, args, strict=True):
        assert same(mine, theirs), source
    written = []
    for reuse in (True, False):
        copies = [a.copy() for a in args]
        out, _ = results(wg.compile, f, reuse, copies)
        written.append([*out, *copies])
    for a, b in zip(*written, strict=True):
        assert same(a, b), source


@settings(max_examples=100, **FIXED)
@given(programs())
def test_random_programs(program):
    check_random(program)


@pytest.mark.slow
@settings(max_examples=2000, **FIXED)
@given(programs())
def test_many_random_programs(program):
    check_random(program)


# -- one thing at a time ----------------------------------------------------------------------

X = np.linspace(0.5, 2.0, 6)
M = X.reshape(2, 3)


def text_of(function, *args, transform=wg.compile, **options):
    """The function's statements with reuse, after a check of its results."""
    made = assert_same(transform, function, args, **options)
    return made[-1].text


def test_dead_operands_are_overwritten():
    def f(x):
        y = np.exp(x)
        z = np.log(y + x)
        return 1.0 - z * y
    text = text_of(f, X)
    assert "y *= z\n" in text or "z *= y\n" in text
    assert "np.subtract(1.0, " in text
    assert ", out=" in text


def test_a_result_in_the_memory_of_another_has_the_users_name():
    def f(x):
        first = np.sin(x)
        second = np.exp(first)
        return second[::2] * 2.0 + second[1::2]
    assert "second = np.exp(first, out=first)" in text_of(f, X)


def test_what_is_returned_or_read_later_stays():
    def f(x):
        y = np.exp(x)
        z = np.sin(y)
        return y, z, z, np.cos(z) + y
    assert "out=y" not in text_of(f, X)


def test_views_keep_their_memory():
    def f(x):
        y = np.exp(x)
        part = y[::-1]
        z = np.sin(y)
        return z * part
    assert "out=y" not in text_of(f, X)


def test_expressions_are_evaluated_before_what_they_read_is_overwritten():
    def f(x):
        y = np.exp(x)
        total = np.sum(y) * 2.0 + np.max(y)
        z = np.sin(y)
        return z * total
    text = text_of(f, X)
    assert re.search(r"out=y|y = ", text)


def test_guards_are_checked_before_what_they_read_is_overwritten():
    def f(x):
        y = np.exp(x)
        if np.sum(y) > 10.0:
            return np.sin(y)
        return np.cos(y)
    with forced(True):
        branching = wg.compile(f, lane="array")
        for x in (X, -X, X):
            assert same(branching(x), f(x))
        text = branching.programs[0].source.text
    assert text.index("if not") < text.index("out=y")


def test_broadcasting_needs_the_full_shape():
    def f(x, m):
        row = np.exp(x[:3])
        return row * np.sin(m) + np.exp(m[:, :1]) * row
    text_of(f, X, M)


def test_a_change_of_dtype_needs_new_memory():
    def f(x):
        n = np.rint(x).astype(np.int64) * 3
        return n / 2 + np.float32(0.1) * n.astype(np.float32)
    text_of(f, X)
    for dtype in (np.float32, np.float16, np.int64, np.int32, np.complex128, bool):
        x = np.rint(X).astype(dtype)
        text_of(lambda x: np.exp(x * 2 + x) * x - 1, x)
        text_of(lambda x: (x * x * 3 + x) ** 2 / 2, x)


def test_numbers_are_left_alone():
    def f(x):
        s = np.sum(x)
        t = s * s
        return np.exp(t) * x + t
    text_of(f, X / 10)


@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
def test_the_order_in_memory_is_as_without_reuse(order):
    def f(x, y):
        a = np.exp(x)
        b = np.sin(y)
        c = a * b
        d = np.tanh(a + 1.0)
        return np.sum(c * d, axis=0), d * 2.0, b @ c.T, np.where(x > y, d, c) * x, a - y
    x, y = (np.array(np.random.default_rng(0).normal(size=(5, 7)), order=o) for o in order)
    assert_same(wg.compile, f, (x, y))


def test_assignments():
    def f(x):
        y = np.zeros(6)
        y[1:] = np.exp(x[1:])
        z = np.sin(y)
        y[0] += z[2]
        w = y * z
        w[2:] *= z[2:]
        return np.cos(w)
    text_of(f, X)
    text_of(lambda x: np.sum(f(x)), X, transform=wg.grad)


def test_what_reads_the_old_elements_is_evaluated_before_they_change():
    def f(x):
        y = np.exp(x)
        high = np.max(y) * 2.0 + np.min(np.sin(y))
        y[1:] = x[1:]
        return y * high
    assert ".copy()" not in text_of(f, X)
    assert ".copy()" not in text_of(lambda x: [y := np.exp(x), np.sum(y), y.fill(2.0), y][1::2], X)


def test_long_statements_are_broken_where_python_allows_it():
    def f(first_argument, second_argument):
        a_rather_long_name_for_an_array = np.exp(first_argument)
        return np.cos(a_rather_long_name_for_an_array * np.sum(
            first_argument / 7.0 + second_argument * 3.0 - first_argument * second_argument))
    text = text_of(f, X, X)
    assert "a_rather_long_name_for_an_array *= np.sum(first_argument" in text
    assert max(map(len, text.splitlines())) <= 100


def test_errors_midway_leave_the_arguments_alone():
    def f(x):
        y = x * 2.0
        return np.log(np.sqrt(y) - 1.0)
    with forced(True):
        g = wg.compile(f, lane="array")
        g(X + 1.0)
        x = X.copy()
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            g(x * 0.1)
    assert same(x, X)


def test_code_for_small_arrays_stays_as_it_is():
    def f(x):
        y = np.exp(x)
        return np.log(y + x)
    small, large = wg.compile(f), wg.compile(f)
    small(np.ones(1000))
    large(np.ones(40_000))
    assert "out=" not in small.source
    assert "out=" in large.source


ROWS = [op for op in TABLE.values() if isinstance(op.call, np.ufunc) and not op.call.signature]


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_functions_give_the_same_bits_in_place(op):
    rng = np.random.default_rng(1)
    for dtype in (np.float64, np.float32, np.complex128, np.int64, bool):
        for size in (1, 7, 1000):
            args = [rng.integers(*d, size) if type(d[0]) is int else
                    rng.uniform(*map(float, d), size).astype(dtype) for d in op.domain]
            if not _accepts(op, args):
                continue
            with np.errstate(all="ignore"):
                wanted = op.call(*args)
                for i in [i for i, a in enumerate(args) if a.dtype == wanted.dtype]:
                    copies = [b.copy() for b in args]
                    op.call(*copies, out=copies[i])
                    assert same(copies[i], wanted)


def _accepts(op, args):
    """Whether the function is defined for operands of these dtypes."""
    try:
        with np.errstate(all="ignore"):
            op.call(*args)
    except (TypeError, ValueError, RuntimeWarning):
        return False
    return True


# Rows that stand for others are not printed, and those with bodies in another way.
PRINTED = [op for op in TABLE.values() if op.fresh and op.expand is None and not op.bodies]


@pytest.mark.parametrize("op", PRINTED, ids=lambda op: op.name)
def test_fresh_results_share_no_memory(op):
    for case in base_cases(op, np.random.default_rng(0)):
        args = [np.array(v) for v in case.values]
        with np.errstate(all="ignore"):
            out = load(numpy_source(graph_of(op, case)))(*args)
        arrays = [a for a in (out if isinstance(out, tuple) else (out,)) if np.ndim(a)]
        assert all(a.flags.writeable for a in arrays)
        for a, b in itertools.combinations([*arrays, *args], 2):
            assert not np.may_share_memory(a, b)


# -- memory -----------------------------------------------------------------------------------


def peak(function, args):
    """Most bytes that NumPy holds at once during a call."""
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["rosenbrock", "sine_exponential", "tanh_log_sqrt", "perceptron"])
def test_gradients_take_no_more_memory_than_those_by_hand(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import problems  # noqa: PLC0415
    problem = getattr(problems, name)(*[] if name == "perceptron" else [1_000_000])
    ours = wg.grad(problem.function, argnums=problem.argnums)
    for a, b in zip(flatten(ours(*problem.args))[0], flatten(problem.hand(*problem.args))[0],
                    strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert peak(ours, problem.args) <= 1.01 * peak(problem.hand, problem.args)


def test_dead_arrays_are_given_up():
    def f(x):
        a = np.exp(x)
        low = np.sum(np.sin(a)) + np.max(a[::2])
        b = np.concatenate([x, x, x])
        return np.sum(np.cos(b)) * low
    ours = wg.compile(f)
    x = np.linspace(0.0, 1.0, 100_000)
    assert same(ours(x), f(x))
    assert "del a\n" in ours.source
    assert peak(ours, (x,)) < 3.1 * x.nbytes


# -- the proof --------------------------------------------------------------------------------


def module(body, result="return t", constants=""):
    lines = "\n".join(f"    {line}" for line in [*body.split("; "), *result.split("; ")])
    return Source("f", f"import numpy as np\n\n{constants}\n\ndef f(x, y):\n{lines}\n", ("x", "y"))


ARGS = (np.linspace(0.5, 1.5, 4), np.linspace(-1.0, 2.0, 4))
PLANTED = {     # how it should be, and with a value overwritten that is still needed
    "too early": ("t = np.exp(x); u = t * y; t += 1.0; t += u",
                  "t = np.exp(x); t += 1.0; u = t * y; t += u"),
    "an argument": ("t = x * 2.0", "x *= 2.0; t = x"),
    "through a view": ("t = np.exp(x); v = t[1:]; w = np.sin(v); t *= np.sum(w)",
                       "t = np.exp(x); v = t[1:]; w = np.sin(v, out=v); t *= np.sum(w)"),
    "below a view": ("t = np.exp(x); v = t[::-1].T; t = np.sin(t); t += v",
                     "t = np.exp(x); v = t[::-1].T; np.sin(t, out=t); t += v"),
    "given up": ("t = np.exp(x); u = t * y; del t; t = u", "t = np.exp(x); u = y; del t; t = u * t"),
    "before a guard": ("t = np.exp(x); if np.sum(t) > 20.0: return x; t *= y * 9.0",
                       "t = np.exp(x); t *= y * 9.0; if np.sum(t) > 20.0: return x"),
    "another's memory": ("t = np.exp(x); u = np.sin(y); u = np.cos(u, out=u); t += u",
                         "t = np.exp(x); u = np.sin(y); u = np.cos(u, out=t); t += u"),
    "an alias": ("t = np.exp(x); u = t.copy(); u[0] = 7.0; t += u",
                 "t = np.exp(x); u = t; u[0] = 7.0; t += u"),
    "by an assignment": ("t = np.exp(x); u = np.sum(t); t[1:] = y[1:]; t *= u",
                         "t = np.exp(x); t[1:] = y[1:]; u = np.sum(t); t *= u"),
    "by a scatter": ("t = np.exp(x); u = t * y; np.add.at(t, [0, 0], 1.0); t -= u",
                     "t = np.exp(x); np.add.at(t, [0, 0], 1.0); u = t * y; t -= u"),
    "the wrong operand": ("t = np.exp(x); u = y * 3.0; np.subtract(u, t, out=u); t *= u",
                          "t = np.exp(x); u = y * 3.0; np.subtract(u, t, out=t); t *= u"),
    "operands exchanged": ("t = np.exp(x); np.subtract(y, t, out=t)", "t = np.exp(x); t -= y"),
    "a reshaped array": ("t = np.exp(x); u = t.reshape(2, 2); v = u * 1.0; t *= np.sum(v)",
                         "t = np.exp(x); u = t.reshape(2, 2); u *= 2.0; t *= np.sum(u)"),
}


def executed(source):
    """Results of a source, or that it fails."""
    def other_branch(x, y):
        return x
    args = [a.copy() for a in ARGS]
    with np.errstate(all="ignore"):
        try:
            out = load(source, other_branch)(*args)
        except (NameError, ValueError, TypeError) as error:
            return type(error).__name__
    return [*(out if isinstance(out, tuple) else [out]), *args]


def differ(a, b):
    return isinstance(a, str) or isinstance(b, str) or not all(
        map(same, a, b))


@pytest.mark.parametrize(("right", "wrong"), PLANTED.values(), ids=PLANTED)
def test_planted_overwrites_are_found(right, wrong):
    plain, planted = (module(re.sub(r"(if .*): return x", r"\1:;     return other_branch(x, y)",
                                    text)) for text in (right, wrong))
    check_overwrites(plain, plain)
    assert differ(executed(plain), executed(planted))
    with pytest.raises(VerifyError, match=r"overwritten|written to|not there"):
        check_overwrites(plain, planted)


def test_shared_results_and_written_constants_are_found():
    plain = module("t = np.exp(x)", "return t, t.copy()")
    with pytest.raises(VerifyError, match="share memory"):
        check_overwrites(plain, module("t = np.exp(x)", "return t, t"))
    with pytest.raises(VerifyError, match="share memory"):
        check_overwrites(module("t = x", "return t.copy()"), module("t = x"))
    table = "table = np.array([1.0, 2.0, 3.0, 4.0])"
    with pytest.raises(VerifyError, match="written to"):
        check_overwrites(module("t = table * 2.0", constants=table),
                         module("table *= 2.0; t = table", constants=table))


def test_copies_of_views_are_copies():
    check_overwrites(module("t = np.exp(x); u = t.reshape(2, 2).T.copy(); u[0] = 1.0; w = u * t[0]",
                            "return w"),
                     module("t = np.exp(x); u = t.reshape(2, 2).T.copy(); u[0] = 1.0; u *= t[0]",
                            "return u"))


def test_statements_of_unknown_kinds_are_functions_of_all_they_read():
    loop = "for i in range(3):;     t = t * u;     v[i] = i"
    plain = module(f"t = np.exp(x); u = np.sin(y); v = np.zeros(4); {loop}; u = u * 2.0; t *= u + v")
    check_overwrites(plain, module(
        f"t = np.exp(x); w = np.sin(y); v = np.zeros(4); {loop.replace('u', 'w')}; "
        "w *= 2.0; t *= w + v"))
    for wrong in (f"t = np.exp(x); u = np.sin(y); v = np.zeros(4); u *= 2.0; {loop}; t *= u + v",
                  f"t = np.exp(x); u = np.sin(y); v = np.zeros(4); {loop}; v *= 2.0; t *= u + v"):
        with pytest.raises(VerifyError):
            check_overwrites(plain, module(wrong))


def mutants(source):
    """Sources with two statements exchanged, or with a result in the memory of an operand."""
    lines = source.text.split("\n")
    body = [i for i, line in enumerate(lines) if re.match(r"    (\w+(\[.*\])? .?.?= |np\.|del )", line)]
    for i, j in itertools.pairwise(body):
        if j == i + 1:
            yield [*lines[:i], lines[j], lines[i], *lines[j + 1:]]
    for i in body:
        product = re.fullmatch(r"    (\w+) = (\w+) \* (.*)", lines[i])
        if product:
            new, left, right = product.groups()
            yield [*lines[:i], f"    {left} *= {right}", f"    {new} = {left}", *lines[i + 1:]]
        call = re.fullmatch(r"    (\w+ = )?(np\.(?!sum)\w+)\((\w+)(, out=\w+)?\)", lines[i])
        if call:
            yield [*lines[:i], f"    {call[1] or ''}{call[2]}({call[3]}, out={call[3]})",
                   *lines[i + 1:]]


@pytest.mark.parametrize("number", range(6))
def test_what_the_proof_lets_pass_computes_the_same(number):
    def f(x, y):
        a, b = np.exp(x), np.sin(y)
        for k in range(3):
            c = a * b
            d = c[::-1] * (k + number)
            if number % 2:
                d = d.copy()
                d[1:] += b[1:] * a[:-1]
            a = np.tanh(c + d) - b
            b = np.cos(b * d) if number % 3 else b + np.sum(d) * a
        return a * b, d
    _, made = results(wg.vjp, f, True, (*ARGS, ARGS), argnums=(0, 1))
    source = dataclasses.replace(made[-1], name=made[-1].name)
    args = [*ARGS, ARGS[0], ARGS[1] + 1.0]

    def outcome(one):
        copies = [a.copy() for a in args]
        try:
            return [*load(one)(*copies), *copies]
        except (NameError, ValueError) as error:
            return str(error)
    wanted = outcome(source)
    rejected = passed = 0
    for lines in mutants(source):
        mutant = dataclasses.replace(source, text="\n".join(lines))
        try:
            check_overwrites(source, mutant)
        except VerifyError:
            rejected += 1
            continue
        passed += 1
        assert not differ(outcome(mutant), wanted), mutant.text
    assert rejected > 5
    assert passed > 5
