"""Programs outlive their process: saved as modules, pickled, copied; and serve many threads."""

import copy
import dataclasses
import inspect
import linecache
import pickle
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from scipy import special
from wengert.compiler.errors import SaveError, UnavailableFunctionError

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(np.__file__).parents[1]


def elsewhere(folder, code):
    """Run code in a fresh interpreter in which wengert cannot be imported."""
    script = (f"import sys\nsys.path[:0] = [{str(folder)!r}, {str(SITE)!r}]\n"
              "sys.meta_path.insert(0, type('Block', (), {'find_spec': staticmethod("
              "lambda name, path=None, target=None: (_ for _ in ()).throw(ImportError(name)) "
              "if name.split('.')[0] in ('wengert', 'optree', 'sympy', 'jinja2') else None)})())\n"
              f"import numpy as np\n{code}")
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- saving ---------------------------------------------------------------------------------------


def test_saved_module_runs_without_wengert(tmp_path):
    g = wg.value_and_grad(lambda x: np.sum(np.sin(x) ** 2))
    x = np.array([0.1, 0.5, 1.0])
    value, gradient = g(x)
    path = g.save(tmp_path / "energy.py")
    assert path.read_text() == g.source
    out = elsewhere(tmp_path, "from energy import f_value_and_grad as f\n"
                    "v, g = f(np.array([0.1, 0.5, 1.0]))\nprint(float(v).hex(), g.tolist())")
    assert out == f"{float(value).hex()} {gradient.tolist()}"


def test_wengert_really_cannot_be_imported_there(tmp_path):
    out = elsewhere(tmp_path, "try:\n    import wengert\nexcept ImportError:\n    print('none')")
    assert out == "none"


@pytest.mark.parametrize("constant", [0.1 + 0.2, 5e-324, -0.0, float("inf"), float("-inf"),
                                      float("nan"), 1.7976931348623157e308, -1e-7])
def test_constants_are_exact(tmp_path, constant):
    table = np.array([constant, 1.0])

    def f(x):
        return x * table + np.array([1.0, constant])
    g = wg.compile(f)
    x = np.array([1.0, 1.0])
    with np.errstate(all="ignore"):
        here = g(x)
    g.save(tmp_path / "constants.py")
    there = elsewhere(tmp_path, "from constants import f\nnp.seterr(all='ignore')\n"
                      "print(f(np.array([1.0, 1.0])).tobytes().hex())")
    assert there == here.tobytes().hex()


def test_large_arrays_lie_beside_the_module(tmp_path):
    weights = np.random.default_rng(0).normal(size=(40, 30))
    g = wg.grad(lambda x: np.sum(np.tanh(weights @ x)))
    x = np.linspace(-1, 1, 30)
    here = g(x)
    path = g.save(tmp_path / "layer.py")
    assert path.with_suffix(".npz").exists()
    assert len(path.read_text()) < 2000
    weights[:] = 0.0          # the module holds the values of the time of saving
    there = elsewhere(tmp_path, "from layer import f_grad\n"
                      "print(f_grad(np.linspace(-1, 1, 30)).tobytes().hex())")
    assert there == here.tobytes().hex()


def test_saved_module_refuses_the_branch_it_was_not_made_for(tmp_path):
    def f(x):
        return x ** 2 if x > 0.0 else -x
    g = wg.grad(f)
    g(2.0)
    g.save(tmp_path / "branch.py")
    out = elsewhere(tmp_path, "from branch import f_grad\nprint(float(f_grad(2.0)))\n"
                    "try:\n    f_grad(-2.0)\nexcept ValueError as error:\n    print(error)")
    assert out == "4.0\nthis code was generated for another branch of f_grad"
    assert g(-2.0) == -1.0


def test_scipy_is_imported_where_it_is_used(tmp_path):
    g = wg.grad(lambda x: np.log(1 + np.exp(x)))
    here = g(0.3)
    g.save(tmp_path / "soft.py")
    there = elsewhere(tmp_path, "from soft import f_grad\nprint(float(f_grad(0.3)).hex())")
    assert there == float(here).hex()


def test_module_that_calls_an_opaque_function_is_not_saved(tmp_path):
    @wg.custom_jvp(opaque=True)
    def gamma(x):
        return special.gamma(x)
    gamma.defjvp(lambda p, t: (gamma(*p), gamma(*p) * t[0]))
    g = wg.grad(gamma)
    g(2.5)
    with pytest.raises(SaveError, match=r"gamma_grad calls gamma as it is \(an opaque function"):
        g.save(tmp_path / "opaque.py")
    assert not list(tmp_path.iterdir())


def test_nothing_to_save_yet():
    with pytest.raises(AttributeError, match="has not been specialized"):
        wg.grad(np.sin).save("nowhere.py")


# -- pickling and copying -------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    position: object
    speed: object = None


@wg.grad
def decorated(x):
    return np.sum(x ** 3)


def importable(x):
    return np.sum(x ** 3)


class Spring:
    stiffness = 2.0

    @wg.grad
    def force(self, x):
        return self.stiffness * x ** 2


def test_decorated_function_is_pickled_by_reference():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated)(np.ones(2)).tolist() == [3.0, 3.0]


def test_importable_function_compiles_further_after_pickling():
    g = wg.grad(importable)
    x = np.array([1.0, 2.0])
    here = g(x)
    back = pickle.loads(pickle.dumps(g))
    assert back.source == g.source
    assert back(x).tolist() == here.tolist()
    assert back(np.array([2.0], np.float32)).dtype == np.float32


def test_lambda_ships_its_programs_and_says_what_it_cannot_do():
    g = wg.grad(lambda s: np.sum(s.position * np.sin(s.speed)))
    s = State(np.ones(3), np.arange(3.0))
    here = g(s)
    back = pickle.loads(pickle.dumps(g))
    there = back(s)
    assert there.position.tolist() == here.position.tolist()
    assert there.speed.tolist() == here.speed.tolist()
    assert back.graph == g.graph
    with pytest.raises(UnavailableFunctionError, match="f was pickled without its function"):
        back(State(np.ones(2), np.ones(2)))


def test_all_branches_travel():
    g = wg.grad(lambda x: x ** 2 if x > 0.0 else -x)
    assert (g(2.0), g(-2.0)) == (4.0, -1.0)
    back = pickle.loads(pickle.dumps(g))
    assert (back(2.0), back(-2.0), back(3.0)) == (4.0, -1.0, 6.0)


def test_captured_arrays_travel_by_value():
    weights = np.random.default_rng(1).normal(size=100)
    g = wg.grad(lambda x: np.sum(weights * x ** 2))
    here = g(np.ones(100))
    data = pickle.dumps(g)
    weights[:] = 0.0
    assert pickle.loads(data)(np.ones(100)).tolist() == here.tolist()


def test_program_pickles():
    g = wg.grad(importable)
    program = g.specialize(np.array([1.0, 2.0]))
    back = pickle.loads(pickle.dumps(program))
    assert back.raw(np.array([1.0, 2.0])).tolist() == [3.0, 12.0]
    assert back.graph == program.graph


def test_long_graphs_pickle():
    g = wg.grad(lambda x: sum(np.sin(x * i) for i in range(600)))
    here = g(2.0)
    assert pickle.loads(pickle.dumps(g))(2.0) == here


def test_pickle_runs_in_another_process(tmp_path):
    g = wg.grad(lambda x: np.sum(np.sin(x) ** 2))
    here = g(np.array([0.3, 0.6]))
    (tmp_path / "g.pickle").write_bytes(pickle.dumps(g))
    code = ("import pickle, sys, numpy as np\n"
            "g = pickle.load(open(sys.argv[1], 'rb'))\n"
            "print(g(np.array([0.3, 0.6])).tobytes().hex())\n")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "g.pickle")],
                          capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.strip() == here.tobytes().hex()


def test_deepcopy_is_independent():
    weights = np.array([1.0, 2.0])
    g = wg.grad(lambda x: np.sum(weights * x ** 2))
    g(np.ones(2))
    other = copy.deepcopy(g)
    assert other is not g
    assert other(np.ones(2)).tolist() == [2.0, 4.0]
    assert len(g.programs) == len(other.programs) == 1


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy,
                                       lambda o: pickle.loads(pickle.dumps(o))])
def test_methods_of_a_copied_object_are_its_own(duplicate):
    spring = Spring()
    assert spring.force(3.0) == 12.0
    other = duplicate(spring)
    other.stiffness = 5.0
    assert (other.force(3.0), spring.force(3.0)) == (30.0, 12.0)


# -- threads --------------------------------------------------------------------------------------


def test_threads_share_a_function():
    def energy(x, kind):
        y = np.zeros(x.shape)
        for i in range(len(x)):
            y[i] = np.sin(x[i]) * (2.0 if kind == "a" else 3.0)
        return np.sum(y) if x[0] > 0.0 else -np.sum(y)
    gradient = wg.grad(energy)
    calls = [(np.linspace(sign * 0.1, 1.0, n), kind)
             for n in (3, 4, 5) for kind in "ab" for sign in (1, -1)]
    expected = [wg.grad(energy)(*call).tobytes() for call in calls]
    start = threading.Barrier(8)
    found = {}
    errors = []

    def work(worker):
        try:
            start.wait()
            order = calls[worker:] + calls[:worker]
            for _ in range(3):
                results = [gradient(*call).tobytes() for call in order]
            found[worker] = results[len(calls) - worker:] + results[:len(calls) - worker]
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert all(found[i] == expected for i in range(8))


def test_plain_numpy_in_other_threads_is_not_disturbed():
    stop = threading.Event()
    wrong = []

    def plain():
        while not stop.is_set():
            made = [np.zeros(3), np.asarray([1.0, 2.0]), np.array([[1, 2], [3, 4]])]
            if any(type(m) is not np.ndarray for m in made):
                wrong.append(made)
    thread = threading.Thread(target=plain)
    thread.start()
    try:
        for n in range(1, 30):
            wg.grad(lambda x: np.sum(np.array([x[0], np.sum(np.zeros(3) + x[0])])))(np.ones(n))
    finally:
        stop.set()
        thread.join()
    assert not wrong


# -- what runs can be read ------------------------------------------------------------------------


def test_traceback_shows_the_generated_line():
    g = wg.compile(lambda x, y: np.sin(x) @ y)
    g(np.ones(2), np.ones(2))
    program = g.programs[0]
    try:
        program.raw(np.ones(2), np.ones(3))
    except ValueError:
        text = traceback.format_exc()
    assert "<wengert f" in text
    line = next(ln for ln in program.source.text.splitlines() if ln.startswith("    return"))
    assert line.strip() in text


def test_source_of_the_generated_function_can_be_listed():
    g = wg.grad(lambda x: np.sum(np.sin(x) ** 2))
    program = g.specialize(np.ones(3))
    assert inspect.getsource(program.raw).strip() == \
        program.source.text[program.source.text.index("def "):].strip()
    filename = program.raw.__code__.co_filename
    assert linecache.getline(filename, program.raw.__code__.co_firstlineno).startswith("def f_grad")
    linecache.checkcache()
    assert linecache.getlines(filename)
