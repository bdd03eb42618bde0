"""Host code in CuPy, with a ``RawKernel`` for each launch of a fused kernel."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.errors import NotOnDeviceError
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph, Node
from ..compiler.ops import indexing, layout
from ..compiler.passes.fuse import KernelOp, plain
from .clusters import fused
from .cuda_source import FAIL, CudaText, cuda_source
from .cupy_names import ALSO_IN_CUPY, ALSO_IN_CUPYX, OF_NUMPY
from .dialect import CUDA
from .expression import Expression
from .kernel import Buffer, Kernel
from .launches import Launch, Sort, Step, launches
from .literals import array_text
from .numpy_source import NumpyPrinter, module_text
from .scan import is_scan, scan
from .source import Function, Source

_NUMPY = re.compile(r"\b(np|linalg|special|fft)\.((?:\w+\.)*\w+)")
CHECK = '''def check_index(fail):
    """Raise the IndexError that a kernel has noted."""
    if size := int(fail[0]):
        raise IndexError(f"an index is out of bounds for axis with size {size}")'''


def cupy_source(graph: Graph, annotate: bool = True, deterministic: bool = True,
                exact: bool = False) -> Source:
    """Source of a lowered graph as CuPy code and CUDA kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        deterministic: see :func:`launches`.
        exact: whether products and sums are rounded one by one, as NumPy does.

    Raises:
        NotOnDeviceError: if a function is needed that CuPy lacks.
    """
    whole, found = fused(graph, CUDA)
    printer = CupyPrinter(whole, annotate, [n.op.name for n, _ in found])
    printer.kernels = dict(found)
    printer.deterministic = deterministic
    printer.options = ("-fmad=false",) if exact else ()
    return printer.run()


class CupyPrinter(NumpyPrinter):
    """Prints a graph some of whose nodes are kernels, as code on CuPy's arrays."""

    def __init__(self, graph: Graph, annotate: bool, taken: Iterable[str] = (),
                 around: NumpyPrinter | None = None, apart: bool = False) -> None:
        """Args as of :class:`NumpyPrinter`."""
        super().__init__(graph, annotate, taken, around, apart)
        self.kernels: dict[Node, Kernel] = {}
        self.contiguous: dict[Node, str] = {}       # what kernels can take as it is
        self.raws: list[str] = []
        self.deterministic = True
        self.options: tuple[str, ...] = ()
        if isinstance(around, CupyPrinter):
            self.raws, self.options = around.raws, around.options
            self.deterministic = around.deterministic

    def run(self) -> Source:
        """The module of the graph's function."""
        self.globals |= {"cp", "check_index"}
        self.names.take("cp")
        self.names.take("check_index")
        function, parameters = self.print_function()
        functions = [Function(function, parameters, self.lines), *self.functions.values()]
        text = module_text(functions, self.constants, bool(self.graph.guards),
                           [*[text for _, text in self.helpers.values()],
                            *[CHECK] * any("check_index(" in line for line in self.lines)])
        text = _with_kernels(text, self.raws)
        return Source(function, text, tuple(parameters), self.data, self.captured,
                      bool(self.graph.guards), on_device=True)

    # -- kernels ----------------------------------------------------------------------------------

    def visit(self, node: Node, position: int) -> None:
        """Print one node; a kernel as the launches it consists of."""
        if isinstance(node.op, KernelOp):
            self.flush()
            self._launch(node, self.kernels[node])
        elif is_scan(node):
            self.flush()
            wish = f"{plain(self.graph.name)}_{node.op.name}"
            self._launch(node, scan(node, self.global_name(wish)))
        elif node.op.bodies:
            first = len(self.lines)
            super().visit(node, position)
            self.lines[first:] = self._all_on_device(self.lines[first:], node)
            for key, function in self.functions.items():
                self.functions[key] = function._replace(
                    lines=self._all_on_device(function.lines, node))
        else:
            super().visit(node, position)

    def _all_on_device(self, lines: Sequence[str], node: Node) -> list[str]:
        return [line if line.lstrip().startswith("#") else self._on_device(line, node)
                for line in lines]

    def _launch(self, node: Node, kernel: Kernel) -> None:
        results = [node] if isinstance(node.type, ArrayType) else \
            [self.picks.get(node, {}).get(i) for i in range(len(node.type))]
        known = {b.name: a.value for b, a in zip(kernel.having("in", "scalar"), node.args,
                                                 strict=True) if a.op is CONSTANT}
        whole, steps = launches(kernel, self.deterministic, known)
        given = whole.having("in", "scalar")
        by_pointer = frozenset(b.name for b, a in zip(given, node.args, strict=True)
                               if b.role == "scalar" and not _on_host(a))
        texts = {s: cuda_source(whole, s, by_pointer) for s in steps if isinstance(s, Launch)}
        used = {n for t in texts.values() for n in t.arguments}
        places: dict[str, str] = {}
        for b, a in zip(given, node.args, strict=True):
            if b.name in used:
                places[b.name] = self._given(a, b, b.name in by_pointer)
        self.comment(results[0] or node)
        for b, result in zip(whole.having("out"), results, strict=True):
            name = self.name(result) if result is not None and result.origin and \
                result.origin.name else self.names.unique("t" if b.name == "out" else b.name)
            places[b.name] = name
            self.lines.append(f"{name} = {_empty(b.shape, b.dtype)}")
            if result is not None:
                self.expressions[result] = Expression(name)
                self.owner[result] = name
                self.contiguous[result] = name
        for b in whole.having("scratch", "order"):
            if b.name in used or any(isinstance(s, Sort) and b.name == s.order for s in steps):
                places[b.name] = self.names.unique(b.name)
        places |= {b.name: self._table(b.value, b.name) for b in whole.having("fixed")}
        if FAIL in used:
            places[FAIL] = self.names.unique(FAIL)
            self.lines.append(f"{places[FAIL]} = cp.zeros(1, np.uint64)")
        made: set[str] = set()
        for step in steps:
            self._step(step, whole, texts, places, made)
        if FAIL in used:
            self.lines.append(f"check_index({places[FAIL]})")

    def _step(self, step: Step, kernel: Kernel, texts: dict[Launch, CudaText],
              places: dict[str, str], made: set[str]) -> None:
        if isinstance(step, Sort):
            self.lines.append(f"{places[step.order]} = cp.argsort({places[step.keys]})")
            return
        text = texts[step]
        for b in kernel.having("scratch"):
            if b.name in text.arguments and b.name not in made:
                made.add(b.name)
                self.lines.append(f"{places[b.name]} = {_empty((b.size,), b.dtype)}")
        self._raw(text)
        inside = "".join(f"{places[n]}, " for n in text.arguments)
        inside = inside if len(text.arguments) == 1 else inside[:-2]
        self.lines.append(f"{text.name}(({text.grid},), ({text.block},), ({inside.rstrip()}))")

    def _raw(self, text: CudaText) -> None:
        options = f", {self.options!r}" if self.options else ""
        self.raws.append(f"{text.name} = cp.RawKernel(r'''\n{text.text}''', "
                         f"\"{text.name}\"{options})")

    def _given(self, a: Node, b: Buffer, by_pointer: bool) -> str:
        """An operand as a kernel takes it: contiguous, or a number of the exact type."""
        text = self.expressions[a].text
        if b.role == "scalar" and not by_pointer:
            return f"np.{b.dtype.name}({text})"
        if a in self.contiguous:
            return self.contiguous[a]
        if by_pointer:
            return f"cp.asarray({text}, np.{b.dtype.name})"
        if a.op is CONSTANT and text.isidentifier():
            return text
        name = text if a.op is INPUT else self.names.unique(
            text if a.op is CAPTURED else self._wish(a, text))
        self.lines.append(f"{name} = cp.ascontiguousarray({text})")
        self.contiguous[a] = name
        return name

    def _wish(self, a: Node, text: str) -> str:
        if text.isidentifier():
            return text
        return a.origin.name if a.origin and a.origin.name else "t"

    # -- the rest ---------------------------------------------------------------------------------

    def constant(self, node: Node) -> Expression:
        """A constant: a number in place, an array under a name, in the GPU's memory."""
        value = node.value
        if node.op is CONSTANT and np.ndim(value) == 0:
            return super().constant(node)
        if node.op is CAPTURED:
            found = super().constant(node)
            return Expression(f"cp.asarray({found.text})")
        return Expression(self._table(value, "table"))

    def _table(self, value: Any, wish: str) -> str:
        """The name of an array of the module's, in the GPU's memory."""
        name = self.global_name(wish)
        spelled = array_text(np.asarray(value))
        if spelled is None:
            self.constants.append(f"# {name}: {value.dtype} array of shape {value.shape}, "
                                  "stored beside this source")
            self.data[name] = value
            self.constants.append(f"{name} = cp.asarray({name})")
        else:
            self.constants.append(f"{name} = cp.asarray({spelled})")
        return name

    def express(self, node: Node) -> Expression:
        """The application, with CuPy's function in place of NumPy's."""
        if node.op.reference is not None:
            self._refuse(f"{node.op.name}, a function that is called as it is", node)
        expression = super().express(node)
        if node.op is layout.transpose and expression.text.endswith(".mT"):
            axes = ", ".join(map(str, node.params[0]))
            expression = Expression(f"{expression.text[:-3]}.transpose({axes})")
        return expression._replace(text=self._on_device(expression.text, node))

    def store(self, node: Node, position: int) -> None:
        """Assignments that no kernel does: only those by masks and of complex numbers."""
        if node.op is indexing.scatter_add and ("a",) in node.params[0] and any(
                a.type.shape for a in node.args[2:]):
            self._refuse("np.add.at", node)
        super().store(node, position)

    def _on_device(self, text: str, node: Node) -> str:
        def change(found: re.Match[str]) -> str:
            module, name = found[1], found[2]
            if module == "np" and name in OF_NUMPY:
                return found[0]
            if module == "np" and name in ALSO_IN_CUPY:
                if self.deterministic and name in ("cumsum", "cumprod"):
                    self._refuse(f"{found[0]} that adds in the same order at every run", node)
                return f"cp.{name}"
            if f"{module}.{name}" in ALSO_IN_CUPYX:
                return found[0]
            self._refuse(found[0], node)
            return found[0]
        return _NUMPY.sub(change, text)

    def _refuse(self, name: str, node: Node) -> None:
        raise NotOnDeviceError(
            f"target=\"cupy\" has no counterpart of {name}.",
            "Write it in terms of other functions, or use target=\"numpy\".", node.origin)


def _on_host(node: Node) -> bool:
    """Whether a single number is Python's or NumPy's rather than an array of the GPU's."""
    return node.op in (INPUT, CONSTANT) or bool(
        node.op is layout.reshape and _on_host(node.args[0]))


def _empty(shape: tuple[int, ...], dtype: Any) -> str:
    size = str(shape[0]) if len(shape) == 1 else repr(shape)
    kind = "" if dtype == np.float64 else ", bool" if dtype.kind == "b" else f", np.{dtype.name}"
    return f"cp.empty({size}{kind})"


def _with_kernels(text: str, raws: list[str]) -> str:
    """The module's text with its kernels above the first function or class."""
    above, _, below = ("", "", text) if text.startswith(("def ", "class ")) else \
        text.partition("\n\n\n")
    lines = above.splitlines()
    imports = [line.replace("from scipy import", "from cupyx.scipy import") for line in lines
               if line.startswith(("import ", "from "))]
    rest = "\n".join(line for line in lines if not line.startswith(("import ", "from "))).strip()
    if re.search(r"\bnp\.", rest + below) and "import numpy as np" not in imports:
        imports.append("import numpy as np")
    imports.insert(sum(line.startswith("import tempfile") for line in imports),
                   "import cupy as cp")
    parts = ["\n".join(imports), *([rest] if rest else []), *raws]
    return "\n\n".join(parts) + "\n\n\n" + below
