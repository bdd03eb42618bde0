"""Every example runs, warning-free, in an interpreter of its own; each asserts its figures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))


def run(path, folder, *options):
    """Output of a script, run from another folder."""
    link = folder / "import" / "wengert"
    link.parent.mkdir()
    link.symlink_to(ROOT)
    environment = {**os.environ, "PYTHONPATH": str(link.parent), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-W", "error", str(path), *options], cwd=folder,
                          capture_output=True, env=environment, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    assert run(path, tmp_path)


@pytest.mark.parametrize(("name", "options", "columns"), [
    ("compile_time.py", ("--repeats", "1", "--longest", "100"), 6),
    ("tracing.py", ("--repeats", "1", "--operations", "40"), 5),
])
def test_benchmark_prints_its_table(name, options, columns, tmp_path):
    header, *rows = run(ROOT / "benchmarks" / name, tmp_path, *options).splitlines()
    assert rows
    assert len(header.split()) >= columns


def test_readme_shows_the_output_of_the_main_job(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    output = run(ROOT / "examples/regression.py", tmp_path)
    assert f"```text\n{output.rstrip()}\n```" in readme


def test_every_example_is_listed():
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in EXAMPLES)
