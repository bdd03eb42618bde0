"""Sweeps a few colours at a time, where all at once would take much memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codegen.names import Names
from ..codegen.source import Source
from ..codegen.wrap import wrap
from ..compiler.transforms.pattern import Ints

LIMIT = 2 ** 25          # elements of the largest value of all sweeps together


@dataclass(frozen=True, eq=False)
class Chunks:
    """Seeds of all sweeps, some at a time, and where the entries are found among the results.

    Attributes:
        seeds: booleans of shape (chunks, colours of a chunk, *shape of the argument); where the
            number of colours is no multiple, the last ones are empty.
        index: of each entry among the results of all chunks, one after the other.
    """

    seeds: np.ndarray[Any, np.dtype[np.bool_]]
    index: Ints


def chunked(source: Source, chunks: Chunks) -> Source:
    """A module whose function calls the one that sweeps a chunk, once for each.

    Args:
        source: of a function of the arguments and the seeds of a chunk.
        chunks: all of them.
    """
    names = Names([*source.parameters, *source.data, *source.captured, source.name, "np"])
    sweep, seeds, entries, sums = (names.unique(n) for n in (
        f"{source.name}_sweeps", "all_seeds", "entries", "sums"))
    head, _, body = source.text.partition(f"def {source.name}(")
    parameters = source.parameters[:-1]
    inner = ", ".join([*parameters, source.parameters[-1]])
    call = f"{sums} = [{sweep}({inner}).reshape(-1) for {source.parameters[-1]} in {seeds}]"
    lines = [*wrap(call), f"return np.concatenate({sums})[{entries}]"]
    stored = [f"# {name}: {value.dtype} array of shape {value.shape}, stored beside this source"
              for name, value in ((seeds, chunks.seeds), (entries, chunks.index))]
    if "import numpy as np" not in head:
        head = "import numpy as np\n\n" + head
    text = "\n".join([f"{head}def {sweep}({body.rstrip()}", "", "", *stored, "", "",
                      f"def {source.name}({', '.join(parameters)}):",
                      *[f"    {line}" for line in lines], ""])
    return replace(source, text=text, parameters=parameters,
                   data={**source.data, seeds: chunks.seeds, entries: chunks.index})
