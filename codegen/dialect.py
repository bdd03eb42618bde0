"""The languages kernels are printed in, C for this machine and CUDA: one frozen record each.

To add a language: (1) a record here; (2) its types, literals and reserved words; (3) how a
function of one element and a loop begin; (4) what combines chunks; (5) a loader in the runtime;
(6) a line in the options. Rows need nothing: their expressions are common to all of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# Functions that rows call and no library has, as C: ``{t}`` is the type, ``{f}`` the suffix.
HELPERS: Mapping[str, str] = {
    "modulo": "{t} r = fmod{f}(x, y); return r == 0 ? copysign{f}(r, y) : "
              "(r < 0) != (y < 0) ? r + y : r;",
    "floored": "{t} r = fmod{f}(x, y), q = (x - r) / y; q = (r != 0 && (r < 0) != (y < 0)) ? "
               "q - 1 : q; {t} n = floor{f}(q); n = q - n > ({t})0.5 ? n + 1 : n; "
               "return y == 0 ? x / y : q == 0 ? copysign{f}(0, x / y) : n;",
    "sinc": "{t} y = ({t})3.141592653589793 * x; {t} s = sin{f}(y) / (y == 0 ? 1 : y); "
            "return y == 0 ? 1 : s;",
    "expit": "return 1 / (1 + exp{f}(-x));",
    "log_expit": "return (x < 0 ? x : 0) - log1p{f}(exp{f}(-fabs{f}(x)));",
    "logit": "{t} s = 2 * (x - ({t})0.5), near = log1p{f}(s) - log1p{f}(-s), "
             "far = log{f}(x / (1 - x)); return x < ({t})0.3 || x > ({t})0.65 ? far : near;",
    "logaddexp": "{t} far = (x > y ? x : y) + log1p{f}(exp{f}(-fabs{f}(x - y))); "
                 "return x == y ? x + ({t})0.6931471805599453 : far;",
    "logaddexp2": "{t} far = (x > y ? x : y) + ({t})1.4426950408889634 * "
                  "log1p{f}(exp2{f}(-fabs{f}(x - y))); return x == y ? x + 1 : far;",
    "xlogy": "{t} far = x * log{f}(y); return x == 0 && y == y ? 0 : far;",
    "xlog1py": "{t} far = x * log1p{f}(y); return x == 0 && y == y ? 0 : far;"}

_BASE = ("cos", "exp", "log", "pow", "sin")
_LATER = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cosh", "erf",
          "erfc", "exp2", "expm1", "hypot", "log10", "log1p", "log2", "sinh", "tan", "tanh")
FUNCTIONS = (*_BASE, *_LATER, "copysign", "fabs", "floor", "ceil", "trunc", "rint", "fmod",
             "nextafter", "sqrt", "signbit")
_KEYWORDS = frozenset(re.findall(r"\w+", """
    auto break case char const continue default do double else enum extern float for
    goto if inline int long register restrict return short signed sizeof static struct switch
    typedef union unsigned void volatile while bool true false asm typeof j0 j1 jn y0 y1 yn gamma
    lgamma tgamma div abs main linux unix p lo hi chunk first last host fail wrap c MAX MIN
    NAN INFINITY VECTOR copy"""))


@dataclass(frozen=True)
class Dialect:
    """A language that kernels are printed in.

    Attributes:
        name: of the target.
        types: of NumPy's dtypes.
        vectorised: functions of glibc that have vector versions: in all versions, and since 2.35.
        reserved: names that a kernel's values must not have.
        special: how NaN and infinity are spelled, with an ``f`` in single precision.
        inline: what small functions begin with.
        launches: whether a kernel is launches on a device, rather than one call here.
    """

    name: str
    types: Mapping[str, str]
    vectorised: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    reserved: frozenset[str] = field(default=frozenset())
    special: Mapping[str, str] = field(default_factory=lambda: {
        "nan": "NAN", "nanf": "NAN", "inf": "INFINITY", "inff": "INFINITY"})
    inline: str = "static inline"
    launches: bool = False


C = Dialect("native", {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
    "float32": "float", "float64": "double"}, (_BASE, _LATER),
    frozenset((*_KEYWORDS, *FUNCTIONS, *[f"{n}f" for n in FUNCTIONS], *HELPERS,
               *[f"{n}f" for n in HELPERS])))

_OF_CUDA = frozenset(re.findall(r"\w+", """
    alignas alignof and and_eq bitand bitor catch class compl concept constexpr const_cast decltype
    delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public reinterpret_cast requires static_assert static_cast
    template this thread_local throw try typeid typename using virtual wchar_t xor xor_eq
    threadIdx blockIdx blockDim gridDim warpSize dim3 size_t min max printf assert thread key
    point rest slice cp rsqrt rcbrt sinpi cospi erfinv normcdf
    atomicAdd atomicMax uint"""))
# What takes long to compile, with the number of operands.
TRANSCENDENTAL: Mapping[str, int] = {n + f: 2 if n in ("atan2", "hypot", "pow", "fmod") else 1
                                     for n in (*_BASE, *_LATER, "fmod") for f in ("", "f")} | {
    n + f: 2 if "add" in n or n.startswith("xlog") else 1 for n in HELPERS for f in ("", "f")
    if n not in ("modulo", "floored")}
CUDA = Dialect("cupy", {**C.types, "int64": "long long"}, reserved=C.reserved | _OF_CUDA, special={
    "nan": "__longlong_as_double(0x7ff8000000000000LL)", "nanf": "__int_as_float(0x7fc00000)",
    "inf": "__longlong_as_double(0x7ff0000000000000LL)", "inff": "__int_as_float(0x7f800000)"},
    inline="static __device__ inline", launches=True)
