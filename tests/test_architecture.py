"""The claims about the code as a whole: style, types, directions of imports, sizes, packaging."""

import ast
import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest
import wengert

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("compiler", "codegen", "runtime", "examples", "tests", "benchmarks")
SOURCES = sorted([*ROOT.glob("*.py"), *[p for f in FOLDERS for p in (ROOT / f).rglob("*.py")]])
OPTIONAL_PACKAGES = {"asdex", "autograd", "casadi", "cupy", "dask", "graphviz", "jax", "matplotlib", "sympy",
                     "torch"}
LONGEST = 600
CORPUS = ROOT / "tests/programs.py"      # read by name, not in a sitting

setup = configparser.ConfigParser()
setup.read(ROOT / "setup.cfg", encoding="utf-8")


def lines(section, option):
    return setup[section][option].split("\n")[1:]


def tool(tmp_path, *command):
    """Run a checker that finds this checkout under the name of the package."""
    (tmp_path / "wengert").symlink_to(ROOT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path),
                   "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff(tmp_path):
    tool(tmp_path, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", str(ROOT))


def test_imports_run_one_way(tmp_path):
    tool(tmp_path, "-c", "from importlinter.cli import lint_imports_command as run; run()",
         "setup.cfg", "--no-cache")


def test_types(tmp_path):
    tool(tmp_path, "-m", "mypy", "--config-file", "setup.cfg", "--cache-dir",
         str(ROOT / ".mypy_cache"))


def test_every_operator_family_is_in_the_contract_on_imports():
    layers = "\n".join(lines("importlinter:contract:compiler", "layers"))
    named = {name.strip(" ()") for name in layers.replace("|", "\n").split("\n")}
    modules = {f"wengert.compiler.ops.{p.stem}" for p in (ROOT / "compiler/ops").glob("*.py")
               if p.stem != "__init__"}
    assert modules <= named


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_file_is_short_and_imports_at_its_top(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < LONGEST or path == CORPUS
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or "."]
            else:
                continue
            if "noqa: PLC0415" in text.splitlines()[node.lineno - 1]:
                continue                     # on purpose, as a test of imports may be
            inside = {module.split(".")[0] for module in modules} - OPTIONAL_PACKAGES
            assert not inside, f"{path}:{node.lineno} imports {inside} inside a function"


def test_every_package_is_in_the_setup():
    folders = {p.parent.relative_to(ROOT) for f in ("compiler", "codegen", "runtime")
               for p in (ROOT / f).rglob("__init__.py")}
    packages = {"wengert", *("wengert." + ".".join(f.parts) for f in folders)}
    assert set(lines("options", "packages")) == packages
    places = dict(line.split(" = ") for line in lines("options", "package_dir"))
    assert places == {"wengert": ".", **{"wengert." + ".".join(f.parts): f.as_posix()
                                         for f in folders}}


def test_public_names_are_documented():
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    for name in wengert.__all__:
        value = getattr(wengert, name)
        assert (value.__doc__ or "").strip(), f"{name} has no docstring"
        assert f"`{name}`" in guide, f"docs/guide.md does not speak of {name}"


def test_version_is_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert wengert.__version__ == setup["metadata"]["version"]
    assert f"## {wengert.__version__}" in changelog


@pytest.mark.parametrize("folder", ["compiler", "compiler/ops", "compiler/trace",
                                    "compiler/trace/composites", "compiler/transforms",
                                    "compiler/passes", "codegen", "runtime", "examples", "tests",
                                    "benchmarks"])
def test_folder_says_why_it_exists(folder):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert "Why" in text
    assert 8 <= len(text.splitlines()) <= 40
