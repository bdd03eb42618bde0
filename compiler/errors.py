"""Every situation in which wengert refuses, one class each.

A message says what happened, where in the user's file, and what to write instead.
The classes also derive from the built-in exception NumPy or Python would have raised,
so that ``except TypeError`` in user code keeps its meaning.
"""

import threading
from typing import NamedTuple


class _Losses(threading.local):
    """Errors of this thread that mean a lost derivative, whether or not they were caught."""

    def __init__(self) -> None:
        self.errors: list[WengertError] = []


LOSSES = _Losses()


class Origin(NamedTuple):
    """Where a value was computed in the user's code, and the variable it was stored in."""

    file: str
    line: int
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def unnamed(self) -> "Origin":
        """The same place, without the variable."""
        return self if self.name is None else Origin(self.file, self.line)


class WengertError(Exception):
    """Base class of all errors raised by wengert.

    Args:
        what: what happened, in one sentence.
        instead: what to write instead, in one sentence.
        where: the user's file and line, when one is known.
    """

    def __init__(self, what: str, instead: str = "", where: Origin | None = None) -> None:
        super().__init__(what, instead, where)
        self.what = what
        self.instead = instead
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}" + (f" {self.instead}" if self.instead else "")


class NonScalarOutputError(WengertError, ValueError):
    """``grad`` of a function whose result is not a single number."""


class ComplexOutputError(WengertError, TypeError):
    """``grad`` of a function whose result is complex."""


class InputTypeError(WengertError, TypeError):
    """A derivative with respect to an argument that is not of floating-point numbers."""


class NotAFunctionError(WengertError, TypeError):
    """A derivative of something that cannot be called."""


class ModeError(WengertError, ValueError):
    """``mode`` is none of the directions."""


class ArgnumsError(WengertError, ValueError):
    """``argnums`` names no argument of the function."""


class NoOutputError(WengertError, TypeError):
    """The function returned None, or something that is not made of numbers."""


class LossError(WengertError):
    """The derivative would be lost here.

    Such errors are raised again when the traced function returns, since a bare ``except`` in user
    code would otherwise turn them into a silently wrong answer.
    """

    def __init__(self, what: str, instead: str = "", where: Origin | None = None) -> None:
        super().__init__(what, instead, where)
        LOSSES.errors.append(self)


class UnsupportedFunctionError(LossError, TypeError):
    """A NumPy or SciPy function without an operator in the table."""


class UnsupportedArgumentError(LossError, TypeError):
    """A supported function was called with an argument or option that is not supported."""


class ObjectArrayError(LossError, TypeError):
    """An array whose elements are not numbers."""


class ArraySubclassError(WengertError, TypeError):
    """An array of a subclass that redefines what operations mean (masked, matrix, units)."""


class ShapeError(WengertError, ValueError):
    """Shapes that do not fit each other."""


class TangentError(WengertError, ValueError):
    """A tangent or cotangent that does not fit the value it belongs to."""


class BatchAxisError(WengertError, ValueError):
    """``in_axes`` or ``out_axes`` of ``vmap`` does not fit the arguments or the results."""


class EnclosingValueError(WengertError, ValueError):
    """A function to compile on its own uses a traced value of an enclosing function."""


class NotDifferentiableError(WengertError, TypeError):
    """A derivative was asked for through an operation that has none."""


class BatchedBranchError(NotDifferentiableError):
    """A branch under ``vmap`` depends on a value that differs within the batch."""


class EqualityBranchError(NotDifferentiableError):
    """A branch is taken because a differentiated value equals a number exactly."""


class ConversionError(LossError, TypeError):
    """A traced value would have become a plain number, losing its derivative."""


class LeakedTracerError(LossError, RuntimeError):
    """A traced value was used after the trace it belongs to had ended."""


class ConcreteValueError(LossError, TypeError):
    """A decision needs the value of something of which only the type is known."""


class BodyBranchError(ConcreteValueError):
    """A Python decision inside of a structured loop or branch depends on what it computes."""


class CarryError(WengertError, TypeError):
    """What a loop carries changes its structure, shape or dtype from one step to the next."""


class BranchMismatchError(WengertError, TypeError):
    """The two branches of ``cond`` return different structures, shapes or dtypes."""


class PredicateError(WengertError, TypeError):
    """The condition of ``cond`` or ``while_loop`` is not a single truth value."""


class PolicyError(WengertError, ValueError):
    """``checkpoint`` is to keep variables that the function does not compute."""


class BudgetError(WengertError, ValueError):
    """A budget of memory that no plan meets, or that cannot be planned for."""


class SnapshotsError(WengertError, ValueError):
    """A number of states to keep that is no positive integer, or that this loop cannot keep."""


class TripCountError(WengertError, ValueError):
    """A loop whose number of steps is not given, or is given differently by two arguments."""


class RandomnessError(LossError, RuntimeError):
    """Random numbers are drawn inside a traced function."""


class MutationError(LossError, ValueError):
    """An assignment into an array that NumPy, or this trace, does not allow."""


class BranchError(WengertError, ValueError):
    """A saved module was called with values that take another branch than the traced one."""


class UnavailableFunctionError(WengertError, RuntimeError):
    """An unpickled compiled function would have to compile, but its function did not travel."""


class SaveError(WengertError, ValueError):
    """A generated module that cannot run without this process."""


class NoCompilerError(WengertError, RuntimeError):
    """Native code was asked for where there is no C compiler, or where it does not work."""


class NotOnDeviceError(WengertError, TypeError):
    """A function that CuPy lacks, in a program for the GPU."""


class NoDeviceError(WengertError, RuntimeError):
    """CuPy or a GPU is missing where a program for it is called."""


class DeviceArrayError(WengertError, TypeError):
    """Arrays of NumPy where CuPy's are needed, or the other way round."""


class CustomRuleError(WengertError, ValueError):
    """A user-defined operation or derivative rule is malformed."""


class NonlinearRuleError(CustomRuleError):
    """A derivative rule that is no linear map of its tangents or cotangents."""


class GradientMismatchError(WengertError, AssertionError):
    """``check_grads`` found a derivative that disagrees with differences."""


class ConvergenceError(WengertError, ArithmeticError):
    """A solver inside of an implicit function, or an integrator, did not reach a solution."""


class TimesError(WengertError, ValueError):
    """Times of a solution that do not go one way, or are not within the span."""


class SingularSystemError(WengertError, ArithmeticError):
    """Equations whose solution is not determined, so that it has no derivative."""


class VerifyError(WengertError, AssertionError):
    """A graph breaks the rules stated in ``verify.py``: a bug in wengert."""


class ParseError(WengertError, ValueError):
    """Text that is not a graph."""


class PatternTooLargeError(WengertError, ValueError):
    """A sparsity pattern has more non-zeros than are worth keeping."""


class SparseRequestError(WengertError, TypeError):
    """A sparse derivative of something that has none: complex, traced, or in an unknown form."""


class NotSquareError(ShapeError):
    """A solver needs a square Jacobian."""


class SingularPatternError(WengertError, ArithmeticError):
    """A Jacobian that is singular for every argument, by its pattern of non-zeros alone."""


class SpecializationWarning(UserWarning):
    """A function takes so many different branches that it is traced anew at each call."""


class ConstantResultWarning(UserWarning):
    """A result depends on an input only through comparisons: its derivative is zero."""
