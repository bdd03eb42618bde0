"""Every refusal has a class of its own, says what happened, where, and what to write instead."""

import re

import numpy as np
import pytest
import scipy
import wengert as wg
from wengert.compiler import errors
from wengert.compiler.arraytype import ArrayType
from wengert.compiler.errors import (
    ArgnumsError,
    ArraySubclassError,
    ComplexOutputError,
    ConcreteValueError,
    ConversionError,
    InputTypeError,
    LeakedTracerError,
    ModeError,
    NonScalarOutputError,
    NoOutputError,
    NotAFunctionError,
    ObjectArrayError,
    ShapeError,
    TangentError,
    UnsupportedFunctionError,
    WengertError,
)

X = np.array([1.0, 2.0, 3.0])


def double(x):
    return x * 2.0


def pair(x):
    return x, x


def product(x, y=3.0, *rest, **options):
    return x * y


def of(function, line=0):
    """The user's file and line: that of the definition, or so many below it."""
    return f"{__file__}:{function.__code__.co_firstlineno + line}"


# -- whole messages -------------------------------------------------------------------------------


def unsupported(x):
    return np.sum(np.unpackbits(x))


def to_float(x):
    return sum(map(float, [x, x]))       # a call float(x) would keep it traced


def to_complex(x):
    return next(map(complex, [x]))


def shapes(x):
    return np.sum(x + np.ones(2))


WHOLE = [
    (lambda: wg.grad(double)(X), NonScalarOutputError, of(double),
     "grad needs a function with a scalar result, but the result has shape (3,). Use jacobian for "
     "all derivatives, vjp for their product with a cotangent, or return a sum."),
    (lambda: wg.hessian(pair)(1.0), NonScalarOutputError, of(pair),
     "hessian needs a function with a scalar result, but the result is made of 2 values of shapes "
     "(), (). Use jacobian for all derivatives, vjp for their product with a cotangent, or return "
     "a sum."),
    (lambda: wg.grad(to_float)(1.0), ConversionError, of(to_float, 1),
     "A traced value is converted to a plain float here; its derivative would be lost. Drop the "
     "conversion: NumPy and math functions take the value as it is."),
    (lambda: wg.grad(to_complex)(1.0), ConversionError, of(to_complex, 1),
     "A traced value is converted to a plain complex number here; its derivative would be lost. "
     "Write x + 0j instead of complex(x)."),
    (lambda: wg.grad(double)(3), InputTypeError, of(double),
     "The argument x is the int 3: only floating-point (or complex) numbers have derivatives. "
     "Pass 3.0."),
    (lambda: wg.grad(double)(np.arange(3)), InputTypeError, of(double),
     "The argument x has dtype int64: only floating-point (or complex) numbers have derivatives. "
     "Pass x.astype(float)."),
    (lambda: wg.grad(double)("abc"), InputTypeError, of(double),
     "The argument x is 'abc' of type str: only floating-point (or complex) numbers have "
     "derivatives. Choose other argnums, or pass numbers."),
    (lambda: wg.grad(double)(None), InputTypeError, of(double),
     "The argument x is None, which holds no number. Pass a float, an array or a container of "
     "them, or choose other argnums."),
    (lambda: wg.grad(double, 3)(1.0), ArgnumsError, of(double),
     "argnums=3 is out of range: the call has 1 positional argument. Count from 0, or give the "
     "argument's name."),
    (lambda: wg.grad(product, "z")(1.0), ArgnumsError, of(product),
     "argnums='z' names no argument of this call. The function's parameters are x, y, rest, "
     "options."),
    (lambda: wg.grad(product, "y")(1.0), ArgnumsError, of(product),
     "argnums='y' names no argument of this call. It was left to its default: pass y=3.0."),
    (lambda: wg.grad(unsupported)(X), UnsupportedFunctionError, of(unsupported, 1),
     "numpy.unpackbits has no derivative here: it is not in the table of operators. Write it in "
     "terms of supported NumPy functions, or declare it with wengert.custom_jvp."),
    (lambda: wg.jvp(double)(X, np.ones(2)), TangentError, of(double),
     "The tangent has shape (2,), the argument it belongs to has shape (3,). Give both the same "
     "shape."),
    (lambda: wg.vjp(pair)(1.0, {"a": 1.0}), TangentError, of(pair),
     "The cotangent has the structure {'a': *}, the result has (*, *). Give both the same "
     "structure."),
    (lambda: wg.jvp(double)(X.astype(np.float32), X), TangentError, of(double),
     "The tangent has dtype float64, the argument it belongs to has dtype float32. Convert it: "
     "tangent.astype(np.float32)."),
    (lambda: wg.vjp(double)(X), TangentError, of(double),
     "vjp takes the function's arguments and then a cotangent; without the last one this is no "
     "call of the function: missing a required argument: 'x'. Write vjp(f)(*args, cotangent)."),
    (lambda: wg.grad(shapes)(X), ShapeError, of(shapes, 1),
     "Shapes (3,) and (2,) do not broadcast."),
]


@pytest.mark.parametrize(("call", "error", "where", "text"), WHOLE)
def test_whole_message(call, error, where, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == f"{where}: {text}"
    assert isinstance(caught.value, WengertError)


# -- situations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "x", "error", "match"), [
    (lambda x: x * 1j, 1.0, ComplexOutputError, "result is complex.*real and imaginary"),
    (lambda x: np.argmax(x), X, NonScalarOutputError, "dtype int64. Return a float"),
    (lambda x: x > 0, 1.0, NonScalarOutputError, "dtype bool"),
    (lambda x: x[:1], X, NonScalarOutputError, r"shape \(1,\)"),
    (lambda x: None, 1.0, NoOutputError, "returned None"),
    (lambda x: "text", 1.0, NoOutputError, "returned 'text' of type str"),
    (lambda x: (x, "text"), 1.0, NoOutputError, "returned 'text' of type str"),
    (lambda x: x, True, InputTypeError, "is the bool True.*Pass 1.0"),
    (lambda x: x, {}, InputTypeError, "is {}, which holds no number"),
    (lambda x: x["a"] * x["n"], {"a": 1.0, "n": 2}, InputTypeError,
     r"argument x\['n'\] is the int"),
    (lambda x: x[0] * x[1][0], [1.0, [np.arange(2)]], InputTypeError, r"x\[1\]\[0\] has dtype"),
    (lambda x: np.sum(x), np.array([1.0, None]), InputTypeError, "array of dtype object"),
    (lambda x: np.sum(x), np.array(["2020-01-01"], "datetime64[D]"), InputTypeError,
     r"dtype datetime64\[D\]"),
    (lambda x: np.sum(x), np.ma.array([1.0, 2.0], mask=[0, 1]), ArraySubclassError,
     "A MaskedArray is an array whose operations mean something else.*np.asarray"),
    (lambda x: x.tobytes(), X, UnsupportedFunctionError, "'tobytes' is not supported"),
])
def test_refused(function, x, error, match):
    with pytest.raises(error, match=match) as caught:
        wg.grad(function)(x)
    assert caught.value.where is None or caught.value.where.file == __file__


def test_masked_arrays_do_not_hit_the_program_of_plain_ones():
    g = wg.grad(lambda x: np.sum(x))
    g(np.ones(2))
    with pytest.raises(ArraySubclassError):
        g(np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_captured_masked_arrays_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    with pytest.raises((ArraySubclassError, UnsupportedFunctionError, ObjectArrayError)):
        wg.grad(lambda x: np.sum(x * masked))(np.ones(2))


@pytest.mark.parametrize(("argnums", "match"), [
    (-3, "argnums=-3 is out of range"), (None, "argnums=None is not an integer"),
    (1.5, "argnums=1.5 is not an integer"), (True, "argnums=True is not an integer"),
    ((0, 0), "selects an argument twice"), ((), "selects nothing"),
    ("rest", r"collects the arguments of \*rest: give their positions"),
    ("options", r"collects the arguments of \*\*options: give their own names"),
    (("x", "w"), "argnums='w' names no argument"),
])
def test_argnums(argnums, match):
    with pytest.raises(ArgnumsError, match=match):
        wg.grad(product, argnums)(1.0, 2.0)


def test_a_name_behind_star_args_is_not_a_position():
    def f(*xs, s=1.0):
        return sum(xs) * s
    with pytest.raises(ArgnumsError, match=r"left to its default: pass s=1.0"):
        wg.grad(f, "s")(1.0, 2.0, 3.0)


@pytest.mark.parametrize(("call", "match"), [
    (lambda: wg.jvp(double)(X, (X, X)), r"structure \(\*, \*\), the argument it belongs to has \*"),
    (lambda: wg.jvp(double)(X, [X]), r"structure \[\*\]"),
    (lambda: wg.jvp(lambda d: d["a"] * d["b"])({"a": 1.0, "b": 2.0}, {"b": 1.0, "c": 2.0}),
     r"structure {'b': \*, 'c': \*}"),
    (lambda: wg.jvp(double)(X, np.ones(3, int)), "dtype int64"),
    (lambda: wg.jvp(double)(X, X * 1j), "dtype complex128"),
    (lambda: wg.jvp(double)(X, "text"), "holds 'text' of type str"),
    (lambda: wg.vjp(double)(X, None), "structure None, the result has"),
    (lambda: wg.vjp(lambda x: {"a": x, "b": x})(X, (X, X)), r"structure \(\*, \*\)"),
    (lambda: wg.jvp(double)(), "no positional argument was given"),
    (lambda: wg.hvp(lambda x: np.sum(x ** 3))(X), "missing a required argument: 'x'"),
    (lambda: wg.hvp(lambda x: np.sum(x ** 3))(X, np.ones(2)), r"vector has shape \(2,\)"),
])
def test_operands(call, match):
    with pytest.raises(TangentError, match=match):
        call()


def test_leaked_values():
    kept = []

    def keeps(x):
        kept.append(x * 2.0)
        return np.sum(x)
    with pytest.raises(LeakedTracerError, match="stores a value"):
        wg.grad(keeps)(X)
    for use in (lambda: kept[0] + 1.0, lambda: np.sin(kept[0]), lambda: kept[0][0],
                lambda: bool(kept[0][0] > 0.0)):
        with pytest.raises(LeakedTracerError, match="after its function has returned"):
            use()


def test_decisions_without_values():
    array, number = ArrayType((3,), np.dtype(float)), ArrayType((), np.dtype(float))
    for function, kind in ((lambda x: x[x > 0.0], array), (lambda x: x if x > 0.0 else -x, number)):
        with pytest.raises(ConcreteValueError, match=r"only the type is known\. Pass an example"):
            wg.compile(function).specialize(kind)
    gradient = wg.grad(lambda x: np.sum(x ** 2))
    program = gradient.specialize(array)
    assert gradient(X).tolist() == [2.0, 4.0, 6.0]
    assert gradient.programs == [program]


@pytest.mark.parametrize("transform", [wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian, wg.jvp,
                                       wg.vjp, wg.hvp, wg.compile])
def test_only_functions_are_differentiated(transform):
    with pytest.raises(NotAFunctionError, match=r"takes a function, not 3.0 of type float"):
        transform(3.0)


def test_modes():
    with pytest.raises(ModeError, match=r'Use "forward", "reverse" or "auto"'):
        wg.grad(double, mode="sideways")


def test_has_aux_needs_a_pair():
    with pytest.raises(NonScalarOutputError, match=r"pair \(value, auxiliary\)"):
        wg.grad(lambda x: x * x, has_aux=True)(1.0)


def test_the_users_own_exceptions_pass():
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: x + 1 / 0)(1.0)
    with pytest.raises(IndexError, match="out of bounds"):
        wg.grad(lambda x: x[5])(X)
    with pytest.raises(TypeError, match="2 were given"):
        wg.grad(double)(X, X)


def test_conversions_cannot_be_swallowed():
    def swallows(x):
        try:
            return sum(map(float, [x])) * x
        except TypeError:
            return 0.0 * x
    with pytest.raises(ConversionError):
        wg.grad(swallows)(1.0)


def test_every_class_is_one_situation():
    classes = [c for c in vars(errors).values() if isinstance(c, type)
               and issubclass(c, WengertError) and c is not WengertError]
    for one in classes:
        assert one.__doc__, one
        assert one.__name__.endswith("Error"), one
    assert len({c.__doc__ for c in classes}) == len(classes)


@pytest.mark.parametrize(("call", "name"), [
    (lambda x: scipy.signal.savgol_filter(x, 3, 1), "scipy.signal.savgol_filter"),
    (lambda x: scipy.interpolate.CubicSpline(np.arange(4.0), x)(1.3),
     "scipy.interpolate.CubicSpline"),
    (lambda x: scipy.ndimage.gaussian_filter1d(x, 1.0), "scipy.ndimage.gaussian_filter1d"),
    (lambda x: scipy.stats.zscore(x), "scipy.stats.zscore")])
def test_functions_of_scipy_with_code_of_their_own_are_named(call, name):
    with pytest.raises(UnsupportedFunctionError, match=re.escape(name)) as error:
        wg.grad(lambda x: np.sum(call(x)))(np.array([0.3, -1.2, 2.1, 0.7]))
    assert error.value.where.file == __file__
    assert "custom_jvp" in str(error.value)


def test_errors_of_functions_that_scipy_calls_are_the_users():
    def inside(x):
        def f(t):
            return float(t) * float(x[0]) + missing      # noqa: F821
        return scipy.integrate.quad(f, 0, 1)[0]
    with pytest.raises(NameError, match="missing"):
        wg.grad(inside)(np.ones(2))
    data = np.ones(4)
    with pytest.raises(ValueError, match="window_length"):
        wg.grad(lambda x: np.sum(x) + np.sum(scipy.signal.savgol_filter(data, 9, 1)))(np.ones(4))
