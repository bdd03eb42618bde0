"""Compiled functions: dispatch to specializations, tracing and compiling new ones when needed."""

import copy
import functools
import gc
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np

from ..codegen.budget import Memory, within_budget
from ..codegen.emit import emit, is_by_element, lowered
from ..codegen.reuse import array_source
from ..codegen.source import Source
from ..compiler.arraytype import ArrayType
from ..compiler.errors import (
    ArraySubclassError,
    BudgetError,
    DeviceArrayError,
    EnclosingValueError,
    NotOnDeviceError,
    SpecializationWarning,
)
from ..compiler.graph import Graph
from ..compiler.trace.captures import Captures, captured_by
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import (
    Staged,
    definition,
    function_name,
    inline_call,
    is_traceable,
    leaf_names,
    leaf_type,
    no_trace,
    stage,
)
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten, unflatten
from ..compiler.trace.watch import Watch
from .chunks import chunked
from .compile import Packing, Request, Selection, build, select
from .entry import MISSING, Entry, Target, describe_call, make_entry, rebind
from .honesty import refuse_aliases, refuse_equality, refuse_leaks, warn_constant
from .leaves import kind_of, leaf_key, of_type
from .load_cuda import is_device_array, on_device, to_host, types_of
from .load_python import load
from .mapped import Mapped, build_mapped, map_leaves, trace_example
from .operand import check_call, check_operand, in_call_order, with_operand
from .options import Options
from .pickling import Slot, pack_graph, pack_spec, reduce_compiled, unpack_graph, unpack_spec
from .save import write_module
from .shelf import SHELF
from .sparse import build_sparse, no_sparse_trace
from .sparse_packing import SparsePacking
from .watch import change_test


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Compiling makes many nodes and drops few; searching them for cycles costs a third."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_MAX_ENTRIES = 8
_TRACING = threading.RLock()     # one trace at a time: interception is global to the process


@dataclass
class Program:
    """A specialization compiled for a target.

    Attributes:
        source: the generated module.
        graph: what it was printed from.
        packing: how flat results become the caller's.
        written: positions of the inputs whose new values the function returns last.
        staged: the trace it was made from, as long as that is known.
        memory: what was planned, if there is a budget.
        raw: the generated function itself, for solvers that call it a million times.

    ``raw`` takes the traced arguments, numbers and arrays, one by one and by position, in the order
    in which they stand in the call (those inside of containers too), and returns the flat results:
    one alone, several as a tuple. It looks at nothing: shapes, dtypes and static arguments must be
    those it was compiled for, and captured values are as they were then. A branch it was not
    compiled for is still handed over, and comes back packed in ``value``. Arrays that the function
    writes to are left alone; their new values are the last results. Results are never views of
    arguments.
    """

    source: Source
    graph: Graph
    packing: Packing | SparsePacking
    written: tuple[int, ...] = ()
    staged: Staged | None = None
    memory: Memory | None = None
    raw: Callable[..., Any] = field(init=False)
    single: bool = field(init=False)

    def __post_init__(self) -> None:
        self.raw = load(self.source)
        self.single = len(self.graph.outputs) == 1

    def finish(self, result: Any, inputs: Sequence[Any]) -> Any:
        """Pack results; write into the caller's arrays what the function wrote."""
        if self.single:
            result = (result,)
        if self.written:
            refuse_aliases(inputs, self.written)
            n = len(result) - len(self.written)
            for position, value in zip(self.written, result[n:], strict=True):
                if isinstance(inputs[position], np.ndarray) or is_device_array(inputs[position]):
                    inputs[position][...] = value
            result = result[:n]
        return self.packing(result)

    def is_of(self, staged: Staged) -> bool:
        """Whether another trace would give this same program; captured arrays are read anew."""
        mine = self.staged
        return mine is not None and mine.out_spec == staged.out_spec and \
            mine.written == staged.written and mine.graph == staged.graph and \
            (not isinstance(self.packing, SparsePacking) or self.packing.is_current())

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source, "packing": self.packing, "written": self.written,
                "graph": pack_graph(self.graph), "single": self.single, "staged": None,
                "memory": self.memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"graph": unpack_graph(state["graph"])})
        self.raw = load(self.source)


@dataclass(frozen=True)
class _Finished:
    """A result that another branch's program has already packed."""

    value: Any


@dataclass
class Signature:
    """The programs of one structure, shapes, dtypes and static values."""

    template: list[Any]          # leaves, with traced ones replaced by their types
    spec: Any
    traced: list[int]
    programs: list[Program] = field(default_factory=list)
    warned: bool = False
    changed: Callable[[], bool] | None = None    # whether what a static argument holds has
    retired: list[Program] = field(default_factory=list)     # compiled before a change
    entry: Any = MISSING         # what recognises its calls; None if nothing can
    arrivals: int = 0            # calls that no entry recognised

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"spec": pack_spec(self.spec), "changed": None, "retired": [],
                                "entry": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"spec": unpack_spec(state["spec"]), "entry": MISSING})


class Compiled:
    """A function or derivative that is traced, compiled and cached by the types of its arguments.

    Created by ``grad`` and its siblings; see there. ``source`` shows the code of the latest
    specialization.
    """

    def __init__(self, function: Callable[..., Any], request: Request, options: Options) -> None:
        self.function = function
        self.request = request
        self.options = options
        if options.target == "cupy" and request.sparse:
            raise NotOnDeviceError("Sparse derivatives are computed on the processor.",
                                   "Leave sparse out, or pass arrays of NumPy's.",
                                   definition(function))
        self.name = function_name(function) if request.kind == "compile" else \
            f"{function_name(function)}_{request.kind}"
        self._signatures: dict[Any, Signature] = {}
        self._latest: Program | None = None
        self._changed: Callable[[], bool] | None = None     # whether a captured value has
        self._watch = Watch()                               # the tests that tell so
        self._device: Compiled | None = None                # the same for CuPy's arrays
        self._retired: dict[Any, Signature] = {}            # those before that happened
        self._entries: tuple[Entry, ...] = ()               # of the calls recognised last
        # Not the function's __dict__: it may be a Compiled, whose state is its own.
        functools.update_wrapper(self, function, updated=())

    # -- calling ------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run on these arguments, compiling first if they are of a new kind.

        Once compiled, an instance has a generated ``__call__`` that recognises calls of the same
        kind and comes here for all others; see ``entry``.
        """
        leaves, spec = flatten((args, kwargs))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return self._inline(args, kwargs)
        is_for_device = self.options.target == "cupy"
        if not is_for_device and any(map(is_device_array, leaves)):
            return self._for_device()(*args, **kwargs)
        if self._changed is not None and self._changed():
            self._forget()
        signature = self._signature(types_of(leaves), spec)
        if signature.changed is not None and signature.changed():
            signature.retired, signature.programs = signature.programs, []
            signature.changed = None
        inputs = [leaves[i] for i in signature.traced]
        if is_for_device:
            inputs = on_device(inputs, self.function)
        if not signature.programs:
            try:
                self._add_program(signature, leaves, 0)
            except EnclosingValueError:        # the graph belongs into the enclosing trace
                return self._inline(args, kwargs)
        elif not is_for_device:
            self._install_entry(signature, args, kwargs)
        result = signature.programs[0].raw(*inputs)
        if type(result) is _Finished:
            return result.value
        return signature.programs[0].finish(result, inputs)

    def _for_device(self) -> "Compiled":
        """The same for arrays of CuPy's.

        Raises:
            DeviceArrayError: if another target was asked for.
        """
        if self.options.target != "auto":
            raise DeviceArrayError(
                f"An argument is an array of CuPy's, and target={self.options.target!r} computes "
                "on the processor.", "Leave target out, or pass array.get().",
                definition(self.function))
        if self._device is None:
            self._device = Compiled(self.function, self.request,
                                    replace(self.options, target="cupy"))
        return self._device

    def _rebind(self, *values: Any) -> Any:
        """A call that the generated ``__call__`` did not recognise."""
        if self.request.has_operand:
            n = next((i for i, v in enumerate(values) if v is MISSING), len(values))
            return Compiled.__call__(self, *values[:n])
        args, kwargs = rebind(self.function, values)
        return Compiled.__call__(self, *args, **kwargs)

    def _install_entry(self, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
                       ) -> None:
        """Give this instance a ``__call__`` that first looks for calls like this one.

        Those that were recognised last stay behind it: solvers pass a number once and a scalar of
        NumPy's from then on, and some callers alternate.
        """
        signature.arrivals += 1
        if signature.arrivals & (signature.arrivals - 1):       # seldom, if too many alternate
            return
        if signature.entry is MISSING:
            signature.entry = self._entry(signature.programs[0], args, kwargs)
        entry = signature.entry
        if entry is None or any(entry is recent for recent in self._entries):
            return
        self._entries = (entry, *self._entries[:_MAX_ENTRIES - 1])
        recognise: Callable[..., Any] = self._rebind
        for each in reversed(self._entries):
            recognise = each(recognise)
        self.__class__ = type("Compiled", (Compiled,), {"__call__": staticmethod(recognise)})

    def _entry(self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> Entry | None:
        call = describe_call(self.function, int(self.request.has_operand), args, kwargs,
                             kind_of)
        if call is None or program.written:
            return None
        target = Target(program.raw, program.source, program.packing,
                        len(program.graph.outputs), _Finished if program.graph.guards else None)
        return make_entry(call, target, self._watch, self._changed)

    def _forget(self) -> None:
        """A captured value has changed: what was compiled is no longer this function."""
        with _TRACING:
            self._retired = self._signatures
            self._signatures = {}
            self._changed = None
            self._entries = ()
            self.__class__ = Compiled

    def _signature(self, leaves: list[Any], spec: Any) -> Signature:
        key = (spec, tuple(leaf_key(leaf) for leaf in leaves))
        found = self._signatures.get(key)
        if found is None:
            traced = [i for i, leaf in enumerate(leaves) if is_traceable(leaf)]
            template = [self._leaf_type(leaves, i, spec) if is_traceable(leaf) else leaf
                        for i, leaf in enumerate(leaves)]
            before = self._retired.pop(key, None)
            retired = before.programs if before is not None else []
            found = self._signatures.setdefault(
                key, Signature(template, spec, traced, retired=retired))
        return found

    def _leaf_type(self, leaves: Sequence[Any], i: int, spec: Any) -> ArrayType:
        try:
            return leaf_type(leaves[i])
        except ArraySubclassError as error:
            args, kwargs = unflatten(spec, leaves)
            name = leaf_names(self.function, args, kwargs)[i]
            raise ArraySubclassError(f"The argument {name} is not a plain array. {error}",
                                     where=definition(self.function)) from None

    def _add_program(self, signature: Signature, leaves: Sequence[Any], position: int) -> Program:
        """The program at a position of the signature, compiled unless another thread has it."""
        with _TRACING:
            if position < len(signature.programs):
                return signature.programs[position]
            captures = captured_by(self.function)
            static = captured_by(*[leaf for leaf in leaves if not is_traceable(leaf)])
            changed, static_changed = change_test(captures.watch), change_test(static.watch)
            with _collection_paused():
                program = self._compile(signature, to_host(leaves), captures.with_(static))
            captures.check_generators()
            refuse_leaks(self.function, changed)
            signature.changed = static_changed
            if self._changed is None:
                self._changed, self._watch = changed, captures.watch
            program.raw.__globals__["other_branch"] = functools.partial(
                self._other_branch, signature, position)
            if position < self.options.max_specializations:
                signature.programs.append(program)
                self._latest = program
            return program

    def _other_branch(self, signature: Signature, position: int, *inputs: Any) -> _Finished:
        """A guard of the program at ``position`` does not hold: try the next, or trace anew."""
        inputs = tuple(of_type(value, signature.template[i])
                       for i, value in zip(signature.traced, inputs, strict=True))
        if position + 1 < len(signature.programs):
            program = signature.programs[position + 1]
        else:
            leaves = list(signature.template)
            for i, value in zip(signature.traced, inputs, strict=True):
                leaves[i] = value
            if len(signature.programs) >= self.options.max_specializations:
                self._warn_specializations(signature)
            program = self._add_program(signature, leaves, position + 1)
        result = program.raw(*inputs)
        if type(result) is _Finished:
            return result
        return _Finished(program.finish(result, inputs))

    def _warn_specializations(self, signature: Signature) -> None:
        if signature.warned:
            return
        signature.warned = True
        guards = signature.programs[0].graph.guards
        where = f" at {guards[0].origin}" if guards and guards[0].origin else ""
        warnings.warn(
            f"{self.name} has taken more than {self.options.max_specializations} different "
            f"branches{where}; from here on new ones are traced at every call. Use "
            "np.where, or a structured loop, for decisions that differ from call to call.",
            SpecializationWarning, stacklevel=4)

    # -- compiling ----------------------------------------------------------------------------

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> tuple[tuple[Any, ...], list[Any]]:
        """The function's own arguments, and the leaves of the operand of a product."""
        if not self.request.has_operand:
            return args, []
        check_call(self.request, self.function, args, kwargs)
        return args[:-1], flatten(args[-1])[0]

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any],
               captures: Captures | None = None
               ) -> tuple[Staged, Selection | Mapped | None, list[Any]]:
        """Trace the function; also what is selected, and the leaves of its own arguments."""
        own, _ = self._split(args, kwargs)
        leaves, spec = flatten((own, kwargs))
        names = leaf_names(self.function, own, kwargs)
        if self.request.kind == "vmap":
            mapped = map_leaves(self.function, own, kwargs, self.request.in_axes)
            return trace_example(self.function, mapped, spec, names, captures), mapped, leaves
        selection: Selection | None = None
        if self.request.kind != "compile":
            selection = select(self.function, own, kwargs, leaves, self.request.argnums)
        staged = stage(self.function, leaves, spec, names, captures=captures)
        if selection is not None:
            refuse_equality(staged, selection, self.function)
            warn_constant(staged, selection, self.function)
        return staged, selection, leaves

    def _derive(self, args: tuple[Any, ...], kwargs: dict[str, Any], staged: Staged,
                selection: Selection | Mapped | None, is_last: bool
                ) -> tuple[Graph, Packing | SparsePacking]:
        """Graph of the request and the packing of its results."""
        _, operand = self._split(args, kwargs)
        with no_trace():
            if isinstance(selection, Mapped):
                return build_mapped(staged, selection, self.request.out_axes, self.name,
                                    is_last)
            if self.request.sparse and selection is not None:
                graph, packing = build_sparse(self.request, staged, selection, self.name,
                                              self.options.lane)
            else:
                graph, packing = build(self.request, staged, selection, self.name)
            if self.request.has_operand:
                check_operand(self.request, graph, args[-1], packing, self.function)
                graph = with_operand(graph, operand)
        return graph, packing

    def _compile(self, signature: Signature, leaves: Sequence[Any], captures: Captures) -> Program:
        args, kwargs = unflatten(signature.spec, leaves)
        staged, selection, _ = self._trace(args, kwargs, captures)
        if staged.lifted:
            raise EnclosingValueError(
                "A function that uses a traced value of an enclosing function cannot be compiled "
                "on its own.", "Pass the value as an argument.", definition(self.function))
        for program in signature.retired:
            if program.is_of(staged):
                return program
        graph, packing = self._derive(args, kwargs, staged, selection, is_last=True)
        if self.request.has_operand:
            graph = in_call_order(graph, flatten(args[-1])[0], flatten(kwargs)[0])
        by_element = is_by_element(graph if self.request.kind == "vmap" else staged.graph)
        memory = None
        if self.options.memory is None:
            source, graph = emit(graph, self.options.lane, by_element, self.options.annotate,
                                 self.options.target, self.options.accuracy,
                                 self.options.deterministic, SHELF)
        else:
            source, graph, memory = within_budget(
                lowered(graph), self.options.memory, self.options.annotate, staged.where)
        if isinstance(packing, SparsePacking) and packing.chunks is not None:
            source = chunked(source, packing.chunks)
        written = staged.written if self.request.kind in ("compile", "vmap") else ()
        return Program(source, graph, packing, written, staged, memory)

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called inside another trace: record this function's graph there."""
        if self.options.memory is not None:
            raise BudgetError(f"{self.name} has a budget of memory and is called inside of a "
                              "function that is traced itself.",
                              "Give memory= to the outermost transform only.", locate())
        if self.request.sparse:
            raise no_sparse_trace(self.request.kind)
        with _TRACING:
            staged, selection, leaves = self._trace(args, kwargs)
            graph, packing = self._derive(args, kwargs, staged, selection, is_last=False)
        _, operand = self._split(args, kwargs)
        inputs = [leaf for leaf in leaves if is_traceable(leaf)]
        results = inline_call(graph, [*inputs, *staged.lifted, *operand])
        if self.request.kind in ("compile", "vmap") and staged.written:
            n = len(results) - len(staged.written)
            for position, value in zip(staged.written, results[n:], strict=True):
                if isinstance(inputs[position], Tracer | np.ndarray):
                    inputs[position][...] = value
            results = results[:n]
        return packing(results)

    # -- inspection ---------------------------------------------------------------------------

    def specialize(self, /, *args: Any, **kwargs: Any) -> Program:
        """Compile for these arguments (values, or ArrayTypes where no decision needs a value)."""
        leaves, spec = flatten((args, kwargs))
        signature = self._signature(types_of(leaves), spec)
        if not signature.programs:
            self._add_program(signature, leaves, 0)
        self._latest = signature.programs[0]
        return signature.programs[0]

    @property
    def programs(self) -> list[Program]:
        """All programs compiled so far."""
        return [p for s in self._signatures.values() for p in s.programs]

    @property
    def source(self) -> str:
        """Source of the latest specialization."""
        return self._last().source.shown

    @property
    def graph(self) -> Graph:
        """Graph of the latest specialization."""
        return self._last().graph

    def _last(self) -> Program:
        if self._latest is None:
            raise AttributeError(f"{self.name} has not been specialized yet: call it, or call "
                                 ".specialize with example arguments.")
        return self._latest

    @property
    def pattern(self) -> Any:
        """Where a sparse derivative may differ from zero: boolean SciPy arrays."""
        return self._sparse("pattern").patterns

    @property
    def colors(self) -> int:
        """How many colours a sparse derivative has: sweeps, unless there are formulas for it."""
        return self._sparse("colors").plan.recovery.n_colors

    def require_solvable(self) -> None:
        """A sparse derivative is square, and not singular by its pattern alone.

        Raises:
            NotSquareError: if it has another number of rows than of columns.
            SingularPatternError: if it is singular for every argument, naming a row or column.
        """
        self._sparse("pattern").require_solvable(self.name, definition(self.function))

    def _sparse(self, name: str) -> SparsePacking:
        packing = self._last().packing
        if not isinstance(packing, SparsePacking):
            raise AttributeError(f"{self.name} is dense and has no {name}.")
        return packing

    def save(self, path: str | Path) -> Path:
        """Write the latest specialization as a module that runs without wengert.

        Of a native program that is its NumPy version, with the C text beside it to be read.
        """
        program = self._last()
        source = program.source
        if source.kernels:
            source = array_source(program.graph, self.options.annotate)
            Path(path).with_suffix(".c").write_text(program.source.c, encoding="utf-8")
        return write_module(source, Path(path))

    def report(self) -> str:
        """Sizes of the latest specialization, in words."""
        graph = self._last().graph
        lines = len(self._last().source.text.splitlines())
        text = (f"{self.name}: {len(graph.nodes)} nodes, {len(graph.guards)} guards, "
                f"{lines} lines of source, {len(self.programs)} programs")
        if self._last().memory is not None:
            text = f"{text}\n{self._last().memory}"
        packing = self._last().packing
        return f"{text}\n{packing.report(graph)}" if isinstance(packing, SparsePacking) else text

    def __repr__(self) -> str:
        return f"<wengert {self.request.kind} of {function_name(self.function)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a decorator of a method: bound to the instance."""
        if instance is None:
            return self
        return _bound(self, instance)

    def __reduce__(self) -> Any:
        return reduce_compiled(self, Compiled)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Compiled":
        return Compiled(copy.deepcopy(self.function, memo), self.request, self.options)


def _bound(compiled: Compiled, instance: Any) -> Compiled:
    """The compiled method of an instance; kept on the instance so that it is compiled once."""
    key = f"_wengert_{id(compiled)}"
    slot = getattr(instance, "__dict__", {}).get(key)
    if slot is None or slot.value is None or slot.value.function.__self__ is not instance:
        found = Compiled(MethodType(compiled.function, instance), compiled.request,
                         compiled.options)
        slot = Slot(found)
        if isinstance(instance, type):
            setattr(instance, key, slot)
        elif hasattr(instance, "__dict__"):
            instance.__dict__[key] = slot
    return slot.value  # type: ignore[no-any-return]


__all__ = ["Compiled", "Program"]
