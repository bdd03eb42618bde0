"""Saving generated modules, to run anywhere NumPy does."""

from pathlib import Path

import numpy as np

from ..codegen.source import Source
from ..compiler.errors import SaveError


def write_module(source: Source, path: Path) -> Path:
    """Write the module, and its large arrays beside it as ``.npz``; gives the module's path."""
    called = [name for name, value in source.captured.items() if callable(value)]
    if called:
        raise SaveError(
            f"{source.name} calls {', '.join(called)} as it is (an opaque function, or the solver "
            "of an implicit one): a module cannot hold what has no source.",
            "Declare the function without opaque=True, or pickle the compiled function.")
    path = path.with_suffix(".py") if path.suffix != ".py" else path
    text = source.text
    arrays = {**source.data}
    if arrays:
        np.savez(path.with_suffix(".npz"), **arrays)
        lines = ["from pathlib import Path", "", "import numpy as np"]
        loads = ['_data = np.load(Path(__file__).with_suffix(".npz"))',
                 *[f'{name} = _data["{name}"]' for name in arrays]]
        rest = text.split("\n")
        imports = [line for line in rest if line.startswith(("import ", "from "))
                   and line != "import numpy as np"]
        body = [line for line in rest if not line.startswith(("import ", "from "))]
        text = "\n".join([*lines, *imports, "", *loads, *body])
    path.write_text(text, encoding="utf-8")
    return path
