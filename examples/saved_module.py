"""Save a gradient as a module that needs only NumPy, and run it in a fresh interpreter."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import wengert as wg

WEIGHTS = np.linspace(0.5, 1.5, 100)      # large enough to be stored beside the source

USE = """
import sys
import numpy as np
from energy_grad import energy_grad
print(energy_grad(np.linspace(0.0, 1.0, 100)).sum())
assert not any(name.split(".")[0] in ("wengert", "sympy", "jinja2") for name in sys.modules)
"""


@wg.grad
def energy(x):
    return np.sum(WEIGHTS * np.sin(x) ** 2)


def main() -> None:
    expected = energy(np.linspace(0.0, 1.0, 100)).sum()
    with tempfile.TemporaryDirectory() as folder:
        path = energy.save(Path(folder) / "energy_grad.py")
        print(path.read_text(encoding="utf-8"))
        print("beside it:", ", ".join(sorted(p.name for p in Path(folder).iterdir()
                                             if p.suffix == ".npz")))
        # -I keeps everything but the standard paths out; the folder is added by hand.
        use = f"import sys; sys.path.insert(0, {folder!r}){USE}"
        done = subprocess.run([sys.executable, "-I", "-c", use], capture_output=True, text=True,
                              check=True)
    np.testing.assert_allclose(float(done.stdout), expected, rtol=1e-14)
    print(f"sum of the gradient: {float(done.stdout):.6f} there, {expected:.6f} here")


if __name__ == "__main__":
    main()
