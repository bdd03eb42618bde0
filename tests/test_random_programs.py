"""Random programs of views, copies and assignments: the same text runs on NumPy and on the tracer.

A program is grown statement by statement. Each candidate is tried on NumPy first, so that shapes
fit; what is kept is run from the start again. All variables are returned, so that every alias and
every lost update shows.
"""

import itertools

import numpy as np
import pytest
import wengert as wg
from agreement import difference_jacobian, same
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from wengert.compiler.errors import MutationError

PRELUDE = """\
def bump(a, k):
    a *= k
    a[..., 0] += 0.25
    return a

"""
VIEWS = (
    "{v}", "{v}[1:]", "{v}[:-1]", "{v}[::-1]", "{v}[::2]", "{v}[0]", "{v}[-1]", "{v}[..., 0]",
    "{v}[..., ::-1]", "{v}[None]", "{v}[:, None]", "{v}[...]", "{v}.T", "{v}.reshape(-1)",
    "{v}.ravel()", "np.ravel({v})", "{v}.reshape(2, -1)", "np.reshape({v}, (-1, 2))",
    "{v}.swapaxes(0, -1)", "np.expand_dims({v}, 0)", "np.squeeze({v})", "np.atleast_2d({v})",
    "np.asarray({v})", "np.moveaxis({v}, 0, -1)", "np.split({v}, [1])[1]", "{v}.transpose()",
    "{v}.real", "np.array_split({v}, 2)[0]", "{v}[1:][::-1]", "np.flip({v})")
COPIES = (
    "{v}.copy()", "np.copy({v})", "np.array({v})", "{v}.flatten()", "{v}.astype(float)",
    "{v}[[0, 0, 1]]", "{v}[{m}]", "np.zeros_like({v})", "np.zeros({v}.shape)", "{v} * 1.0",
    "np.array({v}.tolist())", "np.concatenate([{v}, {w}])", "np.stack([{v}, {v}])",
    "np.where({m}, {v}, 0.5)", "np.full({v}.shape, {w}.flat[0])", "np.ones_like({v})",
    "np.tile({v}, 2)", "np.take({v}, [1, 0])", "np.broadcast_to({v}, (2,) + {v}.shape)",
    "{v}.copy().T", "np.empty_like({v}) * 0 + {v}", "np.roll({v}, 1)", "np.diag({v})")
FORMULAS = (
    "{v} + {w}", "{v} * {w}", "np.sin({v}) - {w}", "0.5 * {v}", "np.cos({v} * {w})", "-{v}",
    "np.tanh({v}) + {v}.flat[0]", "{v} - {w} * 0.25", "1.5 * {v} ** 2", "np.exp(-np.abs({v}))",
    "{v}.flat[-1] * {w}", "{v}[0] + {v}[-1]")
PLACES = ("[0]", "[-1]", "[1:]", "[:-1]", "[::2]", "[::-1]", "[...]", "[..., 0]", "[..., 1:]",
          "[[0, 1]]", "[[0, 0]]", "[{m}]", "[:, 0]", "[0, ...]", "[None]")
ACTIONS = (
    "{v}{p} = {e}", "{v}{p} = {e}", "{v}{p} += {e}", "{v}{p} *= {e}", "{v} += {e}", "{v} *= 0.5",
    "{v} -= {w}", "{v}[1:] = {v}[:-1]", "{v}[:-1] = {v}[1:]", "{v}[:] = {v}[::-1]",
    "{v}[[0, 1]] = {v}[[1, 0]]", "{v}[0], {v}[-1] = {v}[-1], {v}[0]", "bump({v}{p}, 0.5)",
    "np.multiply({v}, {w}, out={v})", "np.add({w}, 1.0, out={v})", "np.sin({v}, out={v})",
    "np.add({v}{p}, {e}, out={v}{p})", "np.copyto({v}, {w} * 1.0)", "np.copyto({v}, {e}, where={m})",
    "np.add.at({v}, [0, 0], {e})", "np.add.at({v}, ([0, 1], [0, 0]), 0.75)",
    "np.subtract.at({v}, 0, {e})", "np.put({v}, [0, 1], {w})", "{v}.fill(0.25)",
    "np.putmask({v}, {m}, {w})", "{v}.flat[1] = {w}.flat[0]", "{v}.flat = {w} * 1.0",
    "{v}.T[0] = {e}", "{v}.reshape(-1)[1] = {e}", "{v}.ravel()[0] += 0.5",
    "np.fill_diagonal({v}, {w}.flat[0])", "np.place({v}, {m}, [0.5, 0.25])",
    "{v}[1:][0] = {e}", "{v}[::-1][:2] *= 0.5", "np.negative({v}, out={v}, where={m})",
    "for row in {v}: row *= 0.5", "for row in {v}: row[...] = {w}")
SHAPES = ((3,), (2, 2), (2, 3), (4,), (3, 2), (2, 1, 2))


def run(source, *args):
    """The text as a function, applied to arguments."""
    names = {"np": np}
    exec(compile(PRELUDE + source, "<program>", "exec"), names)
    return names["f"] if not args else names["f"](*args)


@st.composite
def programs(draw):
    """Source text and arguments."""
    shapes = draw(st.tuples(st.sampled_from(SHAPES), st.sampled_from(SHAPES)))
    counter = itertools.count()
    args = tuple(np.array([0.15 + 0.2 * ((7 * next(counter)) % 11 - 5) for _ in range(
        int(np.prod(shape)))]).reshape(shape) for shape in shapes)
    names = {"np": np, "x": args[0].copy(), "y": args[1].copy()}
    exec(PRELUDE, names)
    variables, lines = ["x", "y"], []
    for _ in range(draw(st.integers(3, 9))):
        blanks = {"v": draw(st.sampled_from(variables)), "w": draw(st.sampled_from(variables))}
        blanks["m"] = "(np.abs({}) > {})".format(
            blanks["v"], draw(st.sampled_from(["0.2", "0.4"])))
        blanks["e"] = draw(st.sampled_from(["0.5", *FORMULAS])).format(**blanks)
        blanks["p"] = draw(st.sampled_from(PLACES)).format(**blanks)
        kind = draw(st.sampled_from([VIEWS, COPIES, FORMULAS, ACTIONS, ACTIONS, ACTIONS]))
        line = draw(st.sampled_from(kind)).format(**blanks)
        if kind is not ACTIONS:
            variable = f"v{len(lines)}"
            line = f"{variable} = {line}"
        if _fits(line, names, blanks):
            lines.append(line)
            if kind is not ACTIONS:
                variables.append(variable)
    body = "\n".join(f"    {line}" for line in lines)
    results = ", ".join(f"np.ravel({v})" for v in variables)
    return f"def f(x, y):\n{body}\n    return np.concatenate([{results}])\n", args


def _fits(line, names, blanks):
    """Run a statement on NumPy, if it is possible and no decision in it is a close one."""
    masked = names[blanks["v"]]
    if blanks["m"] in line and np.any(np.abs(np.abs(masked) - float(blanks["m"][-4:-1])) < 0.03):
        return False
    before = {k: v.copy() for k, v in names.items() if isinstance(v, np.ndarray)}
    try:
        exec(line, names)
    except (ValueError, IndexError, TypeError, AttributeError, np.exceptions.AxisError):
        unchanged = all(same(v, names[k]) for k, v in before.items())
        assume(unchanged)                 # a loop that failed half-way
        return False
    new = [v for v in names.values() if isinstance(v, (np.ndarray, np.generic))]
    assume(all(np.size(v) <= 40 and np.all(np.abs(v) < 50) for v in new))
    return True


def check(program):
    source, args = program
    given_args = [a.copy() for a in args]
    expected = run(source, *given_args)
    f = run(source)
    written = [a.copy() for a in args]
    try:
        got = wg.compile(f)(*written)
    except MutationError as error:
        assume("how the array lies in memory" not in str(error))
        raise
    assert same(got, expected), source
    for mine, theirs in zip(written, given_args, strict=True):
        assert same(mine, theirs), source
    untouched = [a.copy() for a in args]
    reverse = wg.jacobian(f, (0, 1), mode="reverse")(*untouched)
    forward = wg.jacobian(f, (0, 1), mode="forward")(*untouched)
    for argnum in (0, 1):
        assert same(untouched[argnum], args[argnum]), source
        np.testing.assert_allclose(forward[argnum], reverse[argnum], rtol=1e-11, atol=1e-12,
                                   err_msg=source)
        want = difference_jacobian(f, args, argnum)
        np.testing.assert_allclose(reverse[argnum], want, rtol=1e-5, atol=1e-5, err_msg=source)


FIXED = {"derandomize": True, "deadline": None, "database": None,
         "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much,
                                   HealthCheck.data_too_large]}


@settings(max_examples=200, **FIXED)
@given(programs())
def test_random_program(program):
    check(program)


@pytest.mark.slow
@settings(max_examples=2000, **FIXED)
@given(programs())
def test_many_random_programs(program):
    check(program)
