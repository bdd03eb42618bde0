"""What CuPy (14) has of NumPy's and SciPy's functions: facts of a package that may be absent."""

import re

# Types and numbers are NumPy's, on the host.
OF_NUMPY = frozenset(re.findall(r"\S+", """
    bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128 inf nan pi e newaxis s_"""))

ALSO_IN_CUPY = frozenset(re.findall(r"\S+", """
    abs absolute add all amax amin angle any append arange arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh argmax argmin argpartition argsort argwhere around array array_equal asarray
    ascontiguousarray atleast_1d atleast_2d atleast_3d average bincount bitwise_and bitwise_or
    bitwise_xor block broadcast_arrays broadcast_to cbrt ceil clip column_stack concatenate conj
    conjugate convolve copy copysign correlate cos cosh count_nonzero cov cross cumprod cumsum
    deg2rad degrees delete diag diag_indices diagflat diagonal diff digitize divide dot dsplit
    dstack ediff1d einsum empty empty_like equal exp exp2 expand_dims expm1 extract eye fabs flip
    fliplr flipud floor floor_divide fmax fmin fmod full full_like gcd greater greater_equal
    heaviside histogram hsplit hstack hypot i0 identity imag inner interp invert isclose isfinite
    isinf isnan isreal kron lcm ldexp left_shift less less_equal linspace log log10 log1p log2
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace matmul max
    maximum mean median meshgrid min minimum mod modf moveaxis multiply nan_to_num nancumprod
    nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar negative nextafter nonzero
    not_equal ones ones_like outer pad partition percentile permutation place polyval positive
    power prod ptp put quantile rad2deg radians ravel real reciprocal remainder repeat reshape
    resize right_shift rint roll rollaxis rot90 round searchsorted select sign signbit sin sinc
    sinh sort split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan
    tanh tensordot tile trace transpose trapezoid tri tril tril_indices triu triu_indices
    true_divide trunc unique unravel_index vander var vdot vsplit vstack where zeros zeros_like
    linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.lstsq
    linalg.matrix_power linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd
    linalg.tensorsolve fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn
    fft.rfftn fft.irfftn fft.rfft2 fft.irfft2 fft.hfft fft.ihfft fft.fftshift fft.ifftshift
    fft.fftfreq fft.rfftfreq"""))

ALSO_IN_CUPYX = frozenset(
    [f"special.{n}" for n in re.findall(r"\S+", """
    beta betainc betaln digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit gamma gammainc
    gammaincc gammaln huber i0 i0e i1 i1e j0 j1 kl_div log1p log_ndtr logit loggamma logsumexp
    ndtr ndtri poch polygamma psi rel_entr sinc softmax log_softmax xlog1py xlogy y0 y1 yn zeta""")]
    + [f"linalg.{n}" for n in ("lu", "lu_factor", "lu_solve", "solve_triangular")])
