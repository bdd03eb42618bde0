"""What the coverage table cannot find out by itself: operands of some functions, and the functions
that cannot have a derivative by their nature."""

import numpy as np
import scipy.special as special

X = np.array([0.31, 0.82, 0.57])
Y = np.array([0.43, 0.29, 0.91])
MATRIX = np.array([[0.9, 0.21, 0.35], [0.12, 0.8, 0.4], [0.33, 0.14, 0.7]])
CUBE = np.arange(8.0).reshape(2, 2, 2) / 5.0
BITS = np.array([1, 2, 5])


def _call(namespace, name, *fixed, **options):
    """The function by its public name, with arguments after the operands."""
    return lambda *args: getattr(namespace, name)(*args, *fixed, **options)


def _changed(name, *fixed):
    """A copy of the first operand, after the function has changed it in place."""
    def function(x, *args):
        own = np.array(x)
        getattr(np, name)(own, *args, *fixed)
        return own
    return function


SAMPLES = {
    "numpy.acosh": (_call(np, "acosh"), (X + 1.0,)),
    "numpy.arccosh": (_call(np, "arccosh"), (X + 1.0,)),
    "numpy.apply_along_axis": (lambda x: np.apply_along_axis(np.sum, 0, x ** 2), (MATRIX,)),
    "numpy.apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x ** 2, (0, 1)), (MATRIX,)),
    "numpy.arange": (lambda x: np.arange(x[0], 3.0), (X,)),
    "numpy.argpartition": (_call(np, "argpartition", 1), (X,)),
    "numpy.astype": (_call(np, "astype", np.dtype(complex)), (X,)),
    "numpy.bincount": (lambda w: np.bincount(BITS, weights=w), (X,)),
    "numpy.block": (lambda x, y: np.block([[x], [y]]), (MATRIX, MATRIX)),
    "numpy.choose": (lambda x, y: np.choose([0, 1, 1], [x, y]), (X, Y)),
    "numpy.common_type": (_call(np, "common_type"), (X,)),
    "numpy.compress": (lambda x: np.compress([True, False, True], x), (X,)),
    "numpy.corrcoef": (_call(np, "corrcoef"), (MATRIX,)),
    "numpy.angle": (lambda x, y: np.angle(x + 1j * y), (X, Y)),
    "numpy.imag": (lambda x, y: np.imag(x + 1j * y), (X, Y)),
    "numpy.iscomplex": (lambda x, y: np.iscomplex(x + 1j * y), (X, Y)),
    "numpy.isreal": (lambda x, y: np.isreal(x + 1j * y), (X, Y)),
    "numpy.bartlett": (_call(np, "bartlett"), (5,)),
    "numpy.blackman": (_call(np, "blackman"), (5,)),
    "numpy.hamming": (_call(np, "hamming"), (5,)),
    "numpy.hanning": (_call(np, "hanning"), (5,)),
    "numpy.kaiser": (_call(np, "kaiser"), (5, 2)),
    "numpy.diag_indices": (_call(np, "diag_indices"), (3,)),
    "numpy.tril_indices": (_call(np, "tril_indices"), (3,)),
    "numpy.triu_indices": (_call(np, "triu_indices"), (3,)),
    "numpy.lexsort": (lambda x, y: np.lexsort([x, y]), (X, Y)),
    "numpy.broadcast_to": (_call(np, "broadcast_to", (2, 3)), (X,)),
    "numpy.packbits": (lambda x: np.packbits(x > 0.5), (X,)),
    "numpy.nan_to_num": (_call(np, "nan_to_num"), (X,)),
    "numpy.heaviside": (_call(np, "heaviside"), (X, Y)),
    "numpy.copyto": (_changed("copyto"), (X, Y)),
    "numpy.cumulative_sum": (_call(np, "cumulative_sum"), (X,)),
    "numpy.delete": (_call(np, "delete", 1), (X,)),
    "numpy.digitize": (_call(np, "digitize", np.array([0.2, 0.4, 0.6])), (X,)),
    "numpy.dsplit": (_call(np, "dsplit", 2), (CUBE,)),
    "numpy.einsum": (lambda x, y: np.einsum("ij,j->i", x, y), (MATRIX, X)),
    "numpy.einsum_path": (lambda x, y: np.einsum_path("ij,j->i", x, y)[0][1], (MATRIX, X)),
    "numpy.empty_like": (lambda x: 0.0 * np.nan_to_num(np.empty_like(x)), (X,)),
    "numpy.extract": (lambda x: np.extract([True, False, True], x), (X,)),
    "numpy.fill_diagonal": (_changed("fill_diagonal"), (MATRIX, X)),
    "numpy.fromfunction": (lambda x: np.fromfunction(lambda i: x * i, (3,)), (X,)),
    "numpy.fromiter": (lambda x: np.fromiter((v * v for v in x), float), (X,)),
    "numpy.frompyfunc": (lambda x: np.frompyfunc(lambda v: v * v, 1, 1)(x).astype(float), (X,)),
    "numpy.full": (lambda x: np.full(3, x[0]), (X,)),
    "numpy.geomspace": (lambda x: np.geomspace(x[0], x[1], 4), (X,)),
    "numpy.histogramdd": (_call(np, "histogramdd", 2), (MATRIX,)),
    "numpy.histogram2d": (_call(np, "histogram2d", 2), (X, Y)),
    "numpy.indices": (_call(np, "indices"), ((2, 3),)),
    "numpy.insert": (lambda x, y: np.insert(x, 1, y[0]), (X, Y)),
    "numpy.interp": (lambda x, f: np.interp(x, [0.0, 0.5, 1.0], f), (X, Y)),
    "numpy.isdtype": (lambda x: np.isdtype(x.dtype, "real floating"), (X,)),
    "numpy.issubdtype": (lambda x: np.issubdtype(x.dtype, np.floating), (X,)),
    "numpy.ldexp": (_call(np, "ldexp", 2), (X,)),
    "numpy.linspace": (lambda x: np.linspace(x[0], x[1], 4), (X,)),
    "numpy.logspace": (lambda x: np.logspace(x[0], x[1], 4), (X,)),
    "numpy.min_scalar_type": (_call(np, "min_scalar_type"), (X,)),
    "numpy.partition": (_call(np, "partition", 1), (X,)),
    "numpy.piecewise": (lambda x: np.piecewise(x, [x > 0.5], [np.sin, np.cos]), (X,)),
    "numpy.place": (_changed("place"), (X, [True, False, True], Y)),
    "numpy.polyfit": (lambda y: np.polyfit([0.0, 0.4, 1.0], y, 1), (Y,)),
    "numpy.put": (lambda x, y: _changed("put")(x, [0, 2], y[:2]), (X, Y)),
    "numpy.put_along_axis": (lambda x, y: _changed("put_along_axis")(x, np.array([0, 2]), y[:2], 0),
                             (X, Y)),
    "numpy.putmask": (lambda x, y: _changed("putmask")(x, [True, False, True], y), (X, Y)),
    "numpy.quantile": (_call(np, "quantile", 0.3), (X,)),
    "numpy.nanquantile": (_call(np, "nanquantile", 0.3), (X,)),
    "numpy.percentile": (_call(np, "percentile", 30.0), (X,)),
    "numpy.nanpercentile": (_call(np, "nanpercentile", 30.0), (X,)),
    "numpy.repeat": (_call(np, "repeat", 2), (X,)),
    "numpy.reshape": (_call(np, "reshape", (9, 1)), (MATRIX,)),
    "numpy.resize": (_call(np, "resize", (2, 3)), (X,)),
    "numpy.result_type": (lambda x: np.result_type(x, np.float32).itemsize, (X,)),
    "numpy.roll": (_call(np, "roll", 1), (X,)),
    "numpy.searchsorted": (lambda x: np.searchsorted([0.1, 0.5], x), (X,)),
    "numpy.select": (lambda x: np.select([x > 0.5], [x ** 2], 0.0), (X,)),
    "numpy.take": (_call(np, "take", [0, 2]), (X,)),
    "numpy.take_along_axis": (_call(np, "take_along_axis", np.array([0, 2]), 0), (X,)),
    "numpy.tensordot": (_call(np, "tensordot", 1), (MATRIX, X)),
    "numpy.linalg.tensordot": (_call(np.linalg, "tensordot", axes=1), (MATRIX, X)),
    "numpy.tile": (_call(np, "tile", 2), (X,)),
    "numpy.tri": (_call(np, "tri"), (3,)),
    "numpy.unpackbits": (lambda x: np.unpackbits(x.astype(np.uint8)), (X,)),
    "numpy.unravel_index": (_call(np, "unravel_index", (2, 3)), (4,)),
    "numpy.vecmat": (_call(np, "vecmat"), (X, MATRIX)),
    "numpy.vectorize": (lambda x: np.vectorize(lambda v: v * v)(x), (X,)),
    "numpy.where": (lambda x, y: np.where(x > 0.5, x, y), (X, Y)),
    "numpy.linalg.cholesky": (lambda x: np.linalg.cholesky(x @ x.T), (MATRIX,)),
    "numpy.linalg.eigh": (lambda x: np.linalg.eigh(x + x.T)[0], (MATRIX,)),
    "numpy.linalg.eigvalsh": (lambda x: np.linalg.eigvalsh(x + x.T), (MATRIX,)),
    "numpy.linalg.multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), (MATRIX, MATRIX)),
    "numpy.linalg.tensorinv": (_call(np.linalg, "tensorinv", 1), (MATRIX,)),
    "scipy.special.expn": (lambda x: special.expn(2, x), (X,)),
    "scipy.special.kn": (lambda x: special.kn(2, x), (X,)),
    "scipy.special.yn": (lambda x: special.yn(2, x), (X,)),
    "scipy.special.jn": (lambda x: special.jn(2, x), (X,)),
    "scipy.special.ndtri_exp": (lambda x: special.ndtri_exp(-x), (X,)),
    "scipy.special.logsumexp": (lambda x: special.logsumexp(x), (X,)),
    "scipy.special.ellip_normal": (lambda x: special.ellip_normal(x + 3.0, x + 8.0, 1, 1),
                                   (np.array(0.5),)),
    "scipy.special.obl_ang1_cv": (lambda x: special.obl_ang1_cv(1, 2, 0.5, 1.2, x)[0], (X,)),
    "scipy.special.pro_ang1_cv": (lambda x: special.pro_ang1_cv(1, 2, 0.5, 1.2, x)[0], (X,)),
    "scipy.special.obl_cv_seq": (lambda x: special.obl_cv_seq(1, 3, x), (0.5,)),
    "scipy.special.pro_cv_seq": (lambda x: special.pro_cv_seq(1, 3, x), (0.5,)),
    "scipy.special.pro_rad1": (lambda x: special.pro_rad1(1, 2, 0.5, x + 1.0)[0], (X,)),
    "scipy.special.pro_rad2": (lambda x: special.pro_rad2(1, 2, 0.5, x + 1.0)[0], (X,)),
}

# Functions of whole numbers, and those that make tables of nodes.
for _name in ("bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
              "bitwise_xor", "gcd", "lcm", "left_shift", "right_shift"):
    SAMPLES[f"numpy.{_name}"] = (lambda x, name=_name: getattr(np, name)(
        (10.0 * x).astype(int), 2), (X,))
for _name in ("bitwise_count", "bitwise_invert", "bitwise_not", "invert"):
    SAMPLES[f"numpy.{_name}"] = (lambda x, name=_name: getattr(np, name)(
        (10.0 * x).astype(int)), (X,))
for _name in ("ivp", "jvp", "kvp", "yvp", "h1vp", "h2vp", "spherical_in", "spherical_jn",
              "spherical_kn", "spherical_yn"):
    SAMPLES[f"scipy.special.{_name}"] = (lambda x, name=_name: getattr(special, name)(2, x), (X,))
for _name, _args in (("roots_jacobi", (3, 0.5, 1.2)), ("j_roots", (3, 0.5, 1.2)),
                     ("roots_sh_jacobi", (3, 1.5, 1.0)), ("js_roots", (3, 1.5, 1.0))):
    SAMPLES[f"scipy.special.{_name}"] = (lambda a, b, name=_name: getattr(special, name)(
        3, a, b), tuple(np.array(v) for v in _args[1:]))

_FILES = "input and output"
_TEXT = "text"
_SETTINGS = "settings"
_DATES = "dates"
_TYPES = "types, not values"
_TOOLS = "a tool for programmers"
NOT_APPLICABLE = {f"numpy.{name}": reason for reason, names in {
    _FILES: "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed "
            "memmap frombuffer from_dlpack",
    _TEXT: "array2string array_repr array_str base_repr binary_repr format_float_positional "
           "format_float_scientific fromstring info typename",
    _SETTINGS: "get_printoptions getbufsize geterr geterrcall printoptions set_printoptions "
               "setbufsize seterr seterrcall errstate",
    _DATES: "busday_count busday_offset busdaycalendar datetime_as_string datetime_data "
            "is_busday isnat",
    _TYPES: "can_cast promote_types mintypecode",
    _TOOLS: "get_include show_config show_runtime test nested_iters iterable",
    "indices of plain shapes": "mask_indices ravel_multi_index",
    "a matrix object": "asmatrix bmat",
}.items() for name in names.split()}
NOT_APPLICABLE |= {f"scipy.special.{name}": reason for reason, names in {
    _SETTINGS: "geterr seterr errstate",
    _TOOLS: "test",
    "a polynomial object": "jacobi sh_jacobi legendre sh_legendre chebyt chebyu chebyc chebys "
                           "sh_chebyt sh_chebyu genlaguerre laguerre hermite hermitenorm "
                           "gegenbauer",
}.items() for name in names.split()}
NOT_APPLICABLE |= {f"numpy.{space}.test": _TOOLS for space in ("linalg", "fft")}
