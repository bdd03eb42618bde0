"""Code for the GPU without one: the corpus on a strict stand-in for CuPy, and NVIDIA's compiler.

The stand-in runs the very text of the kernels on the CPU and checks every access for bounds and
races; see tests/README.md.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import wengert as wg
from check import base_cases, graph_of, narrow_cases, whole_cases
from gpu import nvrtc
from gpu.harness import (
    ARCHITECTURES,
    ORDERS,
    close,
    modules,
    small_pieces,
    standin,
    texts_of,
)
from native_programs import random_program
from test_native import cases
from wengert.codegen.clusters import fused
from wengert.codegen.dialect import CUDA
from wengert.codegen.kernel_interpret import interpret_kernel
from wengert.codegen.kernel_text import format_kernel, parse_kernel
from wengert.codegen.kernel_verify import verify_kernel
from wengert.compiler import errors
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.table import TABLE
from wengert.compiler.passes.computable import is_computable


@pytest.fixture(autouse=True, scope="module")
def cp():
    with standin() as found:
        yield found


def agree(named, found, orders=ORDERS):
    """Each module gives what the graph means, and the same bits in every order of threads."""
    for (name, graph, args), f in zip(named, found, strict=True):
        with np.errstate(all="ignore"):
            expected = interpret(graph, *args)
            results = [f(*args, order=order) for order in orders]
        close(results[0], expected, name)
        for again in results[1:]:
            for a, b in zip(again, results[0], strict=True):
                assert a.tobytes() == b.tobytes(), f"{name} depends on the order of threads"


def test_programs_are_the_same_on_the_gpu():
    named = list(cases())
    found = modules([graph for _, graph, _ in named])
    assert len(texts_of(found)) > 500
    agree(named, found)


def test_programs_are_the_same_in_small_pieces(monkeypatch):
    small_pieces(monkeypatch)
    named = [one for one in cases() if one[0].endswith("vjp")]
    found = modules([graph for _, graph, _ in named])
    text = "".join(t for t, _ in texts_of(found))
    for part in ("parts[blockIdx.x]", "i = blockIdx.x; i", "slice * ", "= order[", "if (first > 0"):
        assert part in text
    agree(named, found)


def require_nvrtc():
    """The compiler's library, or a skip that the project's own CI turns into a failure."""
    if nvrtc.library() is None:
        reason = "the wheel nvidia-cuda-nvrtc is not installed"
        assert not os.environ.get("WENGERT_CI"), reason
        pytest.skip(reason)


def units(texts, size=60):
    """Texts without repetitions, several in one unit."""
    whole = {re.sub(rf"\b{n}", "kernel", t): (t, n) for t, n in texts}
    distinct = list(whole.values())
    for first in range(0, len(distinct), size):
        part = distinct[first:first + size]
        yield "".join(f"namespace unit_{i} {{\n{t}\n}}\n" for i, (t, _) in enumerate(part))


def test_every_kernel_compiles_for_every_architecture():
    require_nvrtc()
    found = modules([graph for _, graph, _ in cases()], check=True)
    jobs = [(unit, a) for unit in units(texts_of(found)) for a in ARCHITECTURES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for binary, log in pool.map(lambda job: nvrtc.compiled(*job), jobs):
            assert binary[:4] == b"\x7fELF"
            assert not log.strip("\0 \n"), log             # a warning is dead code, for one


def test_the_compiler_refuses_what_it_should():
    require_nvrtc()
    with pytest.raises(ValueError, match="INFINITY"):
        nvrtc.compiled('extern "C" __global__ void k(double *x) { x[0] = INFINITY; }', "sm_80")
    _, log = nvrtc.compiled('extern "C" __global__ void k(double *x) { double y = x[0]; }', "sm_80")
    assert "never referenced" in log


def test_kernels_for_launches_keep_the_rules(monkeypatch):
    for name, graph, _ in list(cases())[::4]:
        for node, kernel in fused(graph, CUDA)[1]:
            text = format_kernel(verify_kernel(kernel))
            assert format_kernel(parse_kernel(text)) == text
            rng = np.random.default_rng(2)
            given = [np.asarray(rng.uniform(0.5, 1.5, n.type.shape) if n.type.dtype.kind == "f"
                                else np.zeros(n.type.shape), n.type.dtype)[()]
                     for n in node.op.body.inputs]
            with np.errstate(all="ignore"):
                close([np.asarray(v) for v in interpret_kernel(kernel, given)],
                      interpret(node.op.body, *given), name, double=1e-11)


def rows_of_the_table(stride):
    rng = np.random.default_rng(3)
    for name, op in sorted(TABLE.items()):
        for case in base_cases(op, rng):
            every = (case, *list(narrow_cases(case))[:2], *list(whole_cases(case))[::2])
            for one in every[::stride]:
                try:
                    graph = graph_of(op, one)
                except (TypeError, ValueError, KeyError, NotImplementedError):
                    continue
                if all(n.type is not None and is_computable(n) for n in graph.nodes
                       if n.args) and graph.nodes[-1].args:
                    args = [v[()] if isinstance(v, np.ndarray) and v.ndim == 0 else v
                            for v in one.values]
                    yield f"{name} {one}", graph, args


@pytest.mark.slow
def test_rows_are_the_same_on_the_gpu():
    named = list(rows_of_the_table(1))
    assert len(named) > 500
    agree(named, modules([graph for _, graph, _ in named]), orders=(0,))


def random_cases(seeds):
    for seed in seeds:
        program, args = random_program(seed)
        try:
            graph = wg.vjp(program, (0, 1)).specialize(
                *args, program(*args)).graph
        except errors.WengertError:
            continue
        yield f"random {seed}", graph, [*args, *program(*args)]


def test_random_programs_are_the_same_on_the_gpu(monkeypatch):
    small_pieces(monkeypatch)
    named = list(random_cases(range(20)))
    agree(named, modules([graph for _, graph, _ in named]), orders=ORDERS[1:])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 500, 100))
def test_many_random_programs_are_the_same_on_the_gpu(first, monkeypatch):
    if first % 200:
        small_pieces(monkeypatch)
    named = list(random_cases(range(first, first + 100)))
    agree(named, modules([graph for _, graph, _ in named]), orders=ORDERS[1:])


@pytest.mark.slow
def test_kernels_in_small_pieces_compile(monkeypatch):
    require_nvrtc()
    small_pieces(monkeypatch)
    named = [graph for name, graph, _ in [*cases(), *random_cases(range(40))]]
    for unit in units(texts_of(modules(named))):
        nvrtc.compiled(unit, "sm_90")
