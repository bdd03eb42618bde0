"""What is around compiled kernels: calls, threads, the cache, errors, saving, memory."""

import os
import pickle
import stat
import subprocess
import sys
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from native_harness import close, load_many, support
from native_programs import random_program
from wengert.codegen import kernel_text, kernel_verify, recall
from wengert.codegen.c_source import c_source
from wengert.codegen.clusters import fused
from wengert.codegen.lower import lower
from wengert.compiler.arraytype import type_of
from wengert.compiler.errors import NoCompilerError, ParseError, VerifyError
from wengert.compiler.graph import Builder
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.table import TABLE
from wengert.runtime import load_c, options, shelf


def energy(x):
    return np.sum(np.sin(x) * np.exp(-x ** 2))


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A cache folder of its own, for the libraries at least."""
    support(1, 150_000)
    place = tmp_path / "größe und raum"
    monkeypatch.setenv(options.CACHE_VARIABLE, os.fspath(place))
    load_c.folder.cache_clear()
    yield place
    load_c.folder.cache_clear()


@pytest.mark.parametrize("tiny", [False, True], ids=["whole", "chunks"])
def test_random_programs(tiny, monkeypatch):
    named = []
    for seed in range(25):
        f, args = random_program(seed)
        named.append((seed, wg.compile(f).specialize(*args).graph, args))
        rng = np.random.default_rng(seed)
        ct = [rng.normal(size=np.shape(v)) for v in f(*args)]
        graph = wg.vjp(f, (0, 1)).specialize(*args, ct).graph
        named.append((f"{seed} vjp", graph, (*args, *ct)))
    loaded = load_many([g for _, g, _ in named], monkeypatch, tiny_chunks=tiny)
    for (seed, graph, args), f in zip(named, loaded, strict=True):
        given = [v[()] if np.ndim(v) == 0 else v for v in args]
        close(f(*given), interpret(graph, *given), seed)


# -- calls ----------------------------------------------------------------------------------------


def test_source_shows_the_host_code_and_the_c_text():
    gradient = wg.grad(energy, target="native")
    gradient(np.linspace(0.0, 1.0, 9))
    assert "def energy_grad(x):\n    return energy_grad_kernel(x)" in gradient.source
    assert "void energy_grad_kernel(void **p, const struct host *host)" in gradient.source
    assert "#pragma omp simd" in gradient.source


def test_arguments_of_any_layout_are_taken():
    f = wg.compile(lambda x, y: np.tanh(x) + y, target="native")
    x = np.arange(24.0).reshape(4, 6) / 10
    expected = np.tanh(x) + x
    f(x, x)
    for same in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[:, ::-1][:, ::-1].copy()):
        np.testing.assert_allclose(f(same, x), expected, rtol=1e-14)
        np.testing.assert_allclose(f(x, same), expected, rtol=1e-14)
    swapped = np.zeros((4, 6), dtype=x.dtype.newbyteorder())
    swapped[...] = x
    np.testing.assert_allclose(f(swapped, x), expected, rtol=1e-14)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float).reshape(4, 6)
    np.testing.assert_allclose(f(unaligned, x), expected, rtol=1e-14)


def test_numbers_keep_their_kind():
    f = wg.compile(lambda a, n, x: (a * n, n + 1, a > 0.5, np.sin(a), x * a), target="native")
    product, whole, truth, sine, wide = f(0.75, 3, np.float32(2.0))
    assert (type(product), type(whole), type(truth)) == (float, int, bool)
    assert type(sine) is np.float64
    assert type(wide) is np.float32
    assert (product, whole, truth, wide) == (2.25, 4, True, 1.5)


def test_a_kernel_refuses_what_does_not_fit():
    f = wg.compile(lambda x, n: np.sin(x) * n, target="native")
    f(np.ones(3), 2)
    program, = f.programs
    kernel = program.raw.__globals__[f"{program.source.kernels[0].name}"]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        kernel(np.ones(3))
    with pytest.raises(ValueError, match="another shape"):
        kernel(2, np.ones(4)) if program.source.kernels[0].inputs[0][1] == () else \
            kernel(np.ones(4), 2)


def test_an_index_out_of_range_is_an_error():
    f = wg.compile(lambda x, k: np.sum(x[k] ** 2), target="native")
    x = np.arange(5.0)
    assert f(x, np.array([0, -1, 4])) == 32.0
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis with size 5"):
        f(x, np.array([0, 5, 1]))
    with pytest.raises(IndexError, match="index -6"):
        f(x, np.array([0, 1, -6]))


def test_names_of_any_alphabet():
    def énergie(θ, x):
        ψ = np.sin(θ) * x
        return np.sum(ψ ** 2)
    slope = wg.grad(énergie, target="native")
    x = np.linspace(0.0, 1.0, 4)
    np.testing.assert_allclose(slope(0.5, x), wg.grad(énergie)(0.5, x), rtol=1e-14)
    assert "void u" in slope.source or "void e" in slope.source
    assert slope.programs[0].source.c.isascii()


def test_a_branch_hands_over():
    def f(x):
        return x ** 2 if x > 1 else np.sin(x)
    slope = wg.grad(f, target="native")
    assert slope(3.0) == 6.0
    assert slope(0.5) == pytest.approx(np.cos(0.5))
    assert slope(2.0) == 4.0


def test_strict_functions_are_those_of_the_c_library():
    fast = wg.grad(energy, target="native")
    strict = wg.grad(energy, target="native", accuracy="strict")
    x = np.linspace(-2.0, 2.0, 101)
    np.testing.assert_allclose(fast(x), strict(x), rtol=1e-13, atol=1e-16)
    assert "VECTOR" in fast.source
    assert "VECTOR" not in strict.source
    with pytest.raises(ValueError, match="neither fast nor strict"):
        wg.grad(energy, accuracy="exact")


def test_no_memory_is_used_but_for_the_results():
    n = 300_000
    x = np.linspace(0.1, 2.0, n)
    functions = (energy,
                 lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2),
                 lambda x: np.sum(np.tanh(x) * np.log(1 + x ** 2) * np.sqrt(1 + x ** 2)))
    for f in functions:
        gradient = wg.grad(f, target="native")
        gradient(x)
        tracemalloc.start()
        result = gradient(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < result.nbytes + 10_000
        assert all(k.scratch < 10_000 for k in gradient.programs[0].source.kernels)


# -- threads --------------------------------------------------------------------------------------


def test_threads_of_python_share_kernels():
    gradient = wg.grad(energy, target="native")
    x = np.linspace(0.0, 2.0, 200_000)
    expected = gradient(x)
    support(2, 0)
    results = [None] * 4

    def run(i):
        for _ in range(20):
            results[i] = gradient(x)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    support(1, 150_000)
    assert all(r.tobytes() == expected.tobytes() for r in results)


def test_a_forked_process_has_threads_of_its_own():
    script = """
import os, numpy as np, wengert as wg
wg.set_num_threads(2)
f = wg.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x ** 2)), target="native")
x = np.linspace(0.0, 2.0, 400_000)
before = f(x)
child = os.fork()
if child == 0:
    after = f(x)
    os._exit(int(before[0] != after[0] or before[1].tobytes() != after[1].tobytes()))
assert os.waitpid(child, 0)[1] == 0
assert f(x)[0] == before[0]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0, done.stderr


def test_number_of_threads_is_checked():
    with pytest.raises(ValueError, match="at least one"):
        wg.set_num_threads(0)


def test_number_of_threads_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv(options.THREADS_VARIABLE, "3")
    assert options.thread_count() == 3
    monkeypatch.setenv(options.THREADS_VARIABLE, "many")
    assert options.thread_count() == len(os.sched_getaffinity(0))


# -- the compiler and the cache -------------------------------------------------------------------


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch):
    load_c._found.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    try:
        with pytest.raises(NoCompilerError, match=r"looked for gcc.*apt install gcc"):
            wg.grad(energy, target="native")(np.ones(3))
        monkeypatch.setenv("CC", "tcc -g")
        with pytest.raises(NoCompilerError, match="tcc, which CC names"):
            wg.grad(energy, target="native")(np.ones(3))
        assert wg.grad(energy)(np.ones(3)).shape == (3,)
    finally:
        load_c._found.cache_clear()


def test_a_compiler_that_fails_is_quoted(monkeypatch, fresh, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\ncat > /dev/null\necho out of order >&2\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setenv("CC", os.fspath(broken))
    with pytest.raises(NoCompilerError, match="out of order"):
        wg.grad(energy, target="native")(np.ones(4))
    assert not list(fresh.glob("*.tmp"))


@pytest.mark.parametrize(("long", "longest"), [(1, 10_000), (1, 2)])
def test_long_texts_are_compiled_with_other_flags(fresh, monkeypatch, long, longest):
    monkeypatch.setattr(load_c, "LONG", long)
    monkeypatch.setattr(load_c, "LONGEST", longest)
    x = np.linspace(-1.0, 1.0, 29)
    np.testing.assert_allclose(wg.grad(energy, target="native")(x), wg.grad(energy)(x),
                               rtol=1e-13, atol=1e-15)


def libraries(folder):
    return sorted(folder.glob("*.so"))


def test_the_cache_is_private_and_used(fresh):
    wg.grad(energy, target="native")(np.ones(5))
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o700
    one, = libraries(fresh)
    when = one.stat().st_mtime_ns
    wg.grad(energy, target="native")(np.ones(5))
    assert one.stat().st_mtime_ns == when
    assert sorted(p.suffix for p in fresh.iterdir()) == [".so", ".text"]


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_a_damaged_library_is_built_anew(fresh, damage):
    expected = wg.grad(energy, target="native")(np.ones(6))
    one, = libraries(fresh)
    content = one.read_bytes()
    wrong = {"cut": content[:5000], "emptied": b"",
             "changed": content[:9000] + bytes(200) + content[9200:]}[damage]
    replaced = one.with_suffix(".new")
    replaced.write_bytes(wrong)
    os.replace(replaced, one)
    again = wg.grad(energy, target="native")(np.ones(6))
    assert again.tobytes() == expected.tobytes()
    assert one.read_bytes() == content


def lowered(monkeypatch):
    """A list that gets an entry for each kernel that is lowered."""
    found = []
    monkeypatch.setattr("wengert.codegen.lower.lower",
                        lambda *args, **kwargs: found.append(1) or lower(*args, **kwargs))
    return found


def test_kernels_that_were_printed_before_are_not_lowered_again(fresh, monkeypatch):
    done = lowered(monkeypatch)
    x = np.linspace(0.0, 1.0, 7)
    gradients = [wg.grad(energy, target="native") for _ in range(2)]
    results = [gradient(x) for gradient in gradients]
    assert len(done) == 1
    assert results[0].tobytes() == results[1].tobytes()
    assert gradients[0].source == gradients[1].source
    wg.grad(energy, target="native", accuracy="strict")(x)
    assert len(done) == 2
    monkeypatch.setattr(shelf, "_code", lambda: "another version")
    np.testing.assert_array_equal(wg.grad(energy, target="native")(x), results[0])
    assert len(done) == 3
    monkeypatch.setattr(shelf, "_code", lambda: None)
    np.testing.assert_array_equal(wg.grad(energy, target="native")(x), results[0])
    assert len(done) == 4


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_a_damaged_text_is_printed_anew(fresh, monkeypatch, damage):
    done = lowered(monkeypatch)
    x = np.linspace(0.0, 1.0, 7)
    first = wg.grad(energy, target="native")(x)
    (path,) = fresh.glob("*.text")
    good = path.read_bytes()
    path.write_bytes({"cut": good[:-100], "changed": good.replace(b"exp", b"cos"),
                      "emptied": b""}[damage])
    np.testing.assert_array_equal(wg.grad(energy, target="native")(x), first)
    assert len(done) == 2
    assert path.read_bytes() == good


def test_the_code_that_makes_kernels_is_part_of_the_key(tmp_path, monkeypatch):
    def code():
        return shelf._code.__wrapped__()
    assert code() == code() is not None
    monkeypatch.setattr(shelf, "_ROOT", tmp_path)
    assert code() is None
    for part in ("compiler", "codegen"):
        (tmp_path / part / "ops").mkdir(parents=True)
        (tmp_path / part / "ops" / "one.py").write_text("x = 1\n")
    before = code()
    (tmp_path / "codegen" / "ops" / "one.py").write_text("x = 2\n")
    assert len({before, code()}) == 2
    (tmp_path / "codegen" / "kernel.c.j2").write_text("")
    assert len({before, code()}) == 2


def key(function, *args, setting="fast"):
    return recall.key_of([wg.compile(function).specialize(*args).graph], setting)


def test_keys_tell_apart_what_the_text_depends_on():
    x = np.ones(3)
    functions = [
        lambda x: x * 3.0, lambda x: x * -3.0, lambda x: x * np.nan, lambda x: x + 3.0,
        lambda x: x * np.float64(3.0), lambda x: x * np.array([3.0, 4.0, 5.0]),
        lambda x: x * np.array([3.0, 4.0, 6.0]), lambda x: np.maximum(x, 0.0),
        lambda x: np.maximum(x, -0.0), lambda x: x * np.arange(3), lambda x: x * np.arange(3, 6),
        lambda x: np.roll(x, 1), lambda x: np.roll(x, 2), lambda x: x[0] + x[1],
        lambda x: x[0] + x[2], lambda x: x[1:], lambda x: x[::2],
        lambda y: y * 3.0, lambda x: (x, x * 3.0), lambda x: (x * 3.0, x)]
    keys = [key(f, x) for f in functions]
    keys += [key(functions[0], one) for one in (1.0, np.float64(1.0), np.ones(4), np.float32(1.0),
                                                np.ones((3, 1)), np.ones(3, np.float32))]
    keys.append(key(functions[0], x, setting="strict"))
    assert None not in keys
    assert len({*keys}) == len(keys)
    assert key(lambda x: x * 3.0, x) == keys[0]


def test_equal_keys_have_equal_text():
    texts = {}
    for seed in range(25):
        f, args = random_program(seed)
        graph = wg.compile(f).specialize(*args).graph
        _, kernels = fused(graph)
        bodies = [n.op.body for n, _ in kernels]
        text = c_source([k for _, k in kernels]).text if kernels else ""
        assert texts.setdefault(recall.key_of(bodies), text) == text
    assert len(texts) > 10


def test_rows_of_the_users_have_no_key():
    row = replace(TABLE["sin"], name="my_sin")
    builder = Builder("f")
    x = builder.input(type_of(np.ones(3)), "x")
    assert recall.key_of([builder.graph([builder.emit(row, (x,))])]) is None


@pytest.mark.parametrize("mode", [0o500, 0o777])
def test_an_unsafe_or_unwritable_folder_is_not_used(fresh, mode, monkeypatch):
    fresh.mkdir()
    fresh.chmod(mode)
    if mode == 0o500:                            # the superuser may write anywhere
        monkeypatch.setattr(load_c.os, "access", lambda *_: False)
    gradient = wg.grad(energy, target="native")(np.ones(7))
    np.testing.assert_allclose(gradient, wg.grad(energy)(np.ones(7)), rtol=1e-14)
    assert not list(fresh.iterdir())
    assert load_c.folder() != fresh


def test_two_processes_build_the_same_at_once(fresh):
    script = ("import numpy as np, wengert as wg\n"
              "g = wg.grad(lambda x: np.sum(np.cosh(x) ** 2), target='native')\n"
              "print(g(np.linspace(0, 1, 8)).tobytes().hex())")
    processes = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                  text=True) for _ in range(2)]
    said = [p.communicate(timeout=100)[0] for p in processes]
    assert said[0] == said[1] != ""
    assert len(libraries(fresh)) == 2            # the support module, and the kernel
    assert not list(fresh.glob("*.tmp"))


# -- leaving the process --------------------------------------------------------------------------


def test_a_saved_module_runs_with_numpy_alone(tmp_path):
    gradient = wg.grad(energy, target="native")
    x = np.linspace(0.0, 1.0, 5)
    expected = gradient(x)
    path = gradient.save(tmp_path / "energy_grad.py")
    space = {}
    exec(path.read_text(), space)
    np.testing.assert_allclose(space["energy_grad"](x), expected, rtol=1e-14)
    assert "wengert" not in path.read_text()
    assert "void energy_grad_kernel" in (tmp_path / "energy_grad.c").read_text()


def test_native_functions_pickle():
    gradient = wg.grad(energy, target="native")
    x = np.linspace(0.0, 1.0, 5)
    expected = gradient(x)
    again = pickle.loads(pickle.dumps(gradient))
    assert again(x).tobytes() == expected.tobytes()
    assert again.programs[0].source.kernels


# -- the text form and its rules ------------------------------------------------------------------

TEXT = """\
kernel f
  x: f64[4] in
  out: f64[4] out
  nest work 9
    for i in 0..4 simd
      t: f64 = sin(x[i])
      out[i] = t:f64"""


def test_kernel_text_parses_back():
    assert kernel_text.format_kernel(kernel_verify.verify_kernel(
        kernel_text.parse_kernel(TEXT))) == TEXT


@pytest.mark.parametrize(("before", "after", "said"), [
    ("0..4", "0..5", "0..4 is not within out|0..4 is not within x"),
    ("out[i] = t", "x[i] = t", "x must not be stored into"),
    ("= t:f64", "= u:f64", "u is read before it is set"),
    ("out[i]", "out[j]", "j in an index is not known"),
    ("0..4", "3..3", "the loop is empty"),
    ("t: f64 = sin(x[i])", "t <- add x[i]", "t is no accumulator")])
def test_malformed_kernels_are_found(before, after, said):
    with pytest.raises(VerifyError, match=said):
        kernel_verify.verify_kernel(kernel_text.parse_kernel(TEXT.replace(before, after)))


@pytest.mark.parametrize(("before", "after"), [
    ("kernel f", "graph f"), ("nest work 9", "loop"), ("sin", "sinus"), ("x[i]", "y[i]"),
    ("for i in 0..4 simd", "for i until 4")])
def test_what_is_no_kernel_is_refused(before, after):
    with pytest.raises(ParseError):
        kernel_text.parse_kernel(TEXT.replace(before, after, 1))


def test_the_support_module_is_packaged():
    assert load_c._SUPPORT.is_file()
    setup = (Path(__file__).parents[1] / "setup.cfg").read_text()
    assert f"wengert.runtime = {load_c._SUPPORT.name}" in setup
