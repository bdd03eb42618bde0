"""Random programs of nested loops, branches and checkpoints, against plain Python and differences."""

import linecache

import numpy as np
import pytest
import wengert as wg

P, Q = 0.37, np.array([0.5, -0.3, 0.8])
NUMBERS = ("np.sum({v}) * 0.3", "{s} * {s} * 0.5", "np.cos({s})", "{s} + 0.1 * {s}", "{v}[1] * {s}",
           "np.max({v}) * 0.7", "np.dot({v}, {v}) * 0.2", "{s} / (1.2 + {s} ** 2)", "{v}[{i} % 3]")
VECTORS = ("np.sin({v}) * {s}", "{v} * 0.5 + {v} * 0.3", "np.tanh({v} + {s})", "np.roll({v}, 1) * 0.7",
           "{v} - 0.2 * {v} ** 2", "np.where({v} > {s}, {v} * 0.9, {s})", "{v} / (1.5 + {v} ** 2)",
           "np.exp(-{v} ** 2)", "np.cumsum({v}) * 0.3")


class Writer:
    """Writes one program; what is in scope is passed along as lists of names."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.count = 0

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def expression(self, patterns, scope):
        text = self.choose(patterns)
        for kind in "svi":
            while f"{{{kind}}}" in text:
                text = text.replace(f"{{{kind}}}", self.choose(scope[kind]), 1)
        return text

    def number(self, scope):
        return self.expression(NUMBERS, scope)

    def vector(self, scope):
        return self.expression(VECTORS, scope)

    def block(self, depth, scope):
        """Statements, and the scope after them."""
        scope = {kind: list(names) for kind, names in scope.items()}
        lines = []
        for _ in range(self.rng.integers(1, 4)):
            kinds = (self.assignment,) * 2 + (self.counted, self.until, self.scanned, self.branch,
                                              self.checkpoint) * (depth > 0)
            lines += self.choose(kinds)(depth - 1, scope)
        return lines, scope

    def assignment(self, depth, scope):
        name = self.name("t")
        kind, made = self.choose([("s", self.number), ("v", self.vector)])
        line = f"{name} = {made(scope)}"
        scope[kind].append(name)
        return [line]

    def body(self, header, depth, inner, result):
        lines, inner = self.block(depth, inner)
        return [header, *[f"    {line}" for line in [*lines, f"return {result(inner)}"]]]

    def results(self, scope):
        a, b = self.name("a"), self.name("b")
        scope["s"].append(a)
        scope["v"].append(b)
        return f"{a}, {b}"

    def counted(self, depth, scope):
        f, i, a, b = map(self.name, "fiab")
        inner = {"s": [*scope["s"], a], "v": [*scope["v"], b], "i": [i, "1"]}
        stores = [f"    {b}[{i} % 3] {self.choose(['=', '+='])} {self.number(inner)}"
                  for _ in range(self.rng.integers(0, 3))]
        header, *rest = self.body(f"def {f}({i}, state):", depth, inner, lambda s: (
            f"{self.number(s)}, {self.choose([b, self.vector(s)])}"))
        start = self.rng.integers(0, 2)
        options = self.choose(["", "", ", snapshots=2", ", on_disk=2"])
        call = f"wg.fori_loop({start}, {start + self.rng.integers(0, 5)}, {f}, " \
            f"(1.0 * {self.choose(scope['s'])}, {self.choose(scope['v'])}){options})"
        return [header, f"    {a}, {b} = state", *stores, *rest, f"{self.results(scope)} = {call}"]

    def until(self, depth, scope):
        f, i, a, b = map(self.name, "fiab")
        inner = {"s": [*scope["s"], a], "v": [*scope["v"], b], "i": [i]}
        header, *rest = self.body(f"def {f}(state):", depth, inner, lambda s: (
            f"{i} + 1, {self.number(s)}, {self.vector(s)}"))
        call = f"wg.while_loop(lambda state: state[0] < {self.rng.integers(0, 4)}, {f}, " \
            f"(0, 1.0 * {self.choose(scope['s'])}, {self.choose(scope['v'])}))"
        return [header, f"    {i}, {a}, {b} = state", *rest, f"_, {self.results(scope)} = {call}"]

    def scanned(self, depth, scope):
        f, c, x = map(self.name, "fcx")
        inner = {**scope, "s": [*scope["s"], x], "v": [*scope["v"], c]}
        lines = self.body(f"def {f}({c}, {x}):", depth, inner, lambda s: (
            f"{self.vector(s)}, {self.number(s)}"))
        a, b = self.name("a"), self.name("b")
        lines.append(f"{a}, {b} = wg.scan({f}, {self.choose(scope['v'])}, {self.choose(scope['v'])})")
        scope["v"] += [a, b]
        return lines

    def branch(self, depth, scope):
        yes, no = self.name("yes"), self.name("no")
        lines = []
        for f in (yes, no):
            lines += self.body(f"def {f}():", depth, scope, lambda s: (
                f"1.0 * ({self.number(s)}), 1.0 * ({self.vector(s)})"))
        test = f"{self.number(scope)} > 0.21"
        return [*lines, f"{self.results(scope)} = wg.cond({test}, {yes}, {no})"]

    def checkpoint(self, depth, scope):
        f, z, made = map(self.name, "fzt")
        inner = {**scope, "v": [*scope["v"], z]}
        lines = ["@wg.checkpoint", *self.body(f"def {f}({z}):", depth, inner, self.vector),
                 f"{made} = {f}({self.choose(scope['v'])})"]
        scope["v"].append(made)
        return lines


def program(seed):
    """A random function of a number and three numbers."""
    lines, scope = Writer(seed).block(2, {"s": ["p", "0.7"], "v": ["q"], "i": ["0"]})
    result = f"return {scope['s'][-1]} + np.sum({scope['v'][-1]} * q)"
    text = "\n".join(["def f(p, q):", *[f"    {line}" for line in [*lines, result]]]) + "\n"
    file = f"<random program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"np": np, "wg": wg}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"]


def check(seed):
    f = program(seed)
    np.testing.assert_allclose(wg.compile(f)(P, Q), f(P, Q), rtol=1e-12, atol=1e-13)
    reverse = np.hstack(wg.grad(f, (0, 1))(P, Q))
    forward = np.hstack(wg.grad(f, (0, 1), mode="forward")(P, Q))
    np.testing.assert_allclose(reverse, forward, rtol=1e-10, atol=1e-12)
    h = 1e-6
    sides = [(f(P + h * e[0], Q + h * e[1:]) - f(P - h * e[0], Q - h * e[1:])) / (2 * h)
             for e in np.eye(4)]
    np.testing.assert_allclose(reverse, sides, rtol=1e-5, atol=1e-7)
    over_reverse = wg.hessian(f, 1)(P, Q)
    np.testing.assert_allclose(wg.hessian(f, 1, mode="reverse")(P, Q), over_reverse, rtol=1e-9,
                               atol=1e-10)
    np.testing.assert_allclose(over_reverse, over_reverse.T, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_random_program(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 200))
def test_more_random_programs(seed):
    check(seed)
