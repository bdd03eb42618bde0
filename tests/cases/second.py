"""Higher derivatives that go wrong although the first is right."""

import numpy as np

from cases.case import A, case


@case("JuliaDiff/ForwardDiff.jl#331", (0.0,), 0.0, order=3)
def square_third_derivative(x):
    """third derivative of x**2.0 at 0 is 0, was NaN."""
    return x**2.0


@case("pytorch/functorch#1097", (A([0.0, 2.0]),), A([[0.0, 0.0], [0.0, 12.0]]), want="hessian")
def cube_of_abs_hessian(x):
    """sum |x|**3 is C2: Hessian 6|x|, NaN at 0 in peers."""
    return np.sum(np.abs(x) ** 3)


@case("jax-ml/jax#5054", (0.0,), -(np.pi**2) / 3, order=2)
def sinc_second_at_zero(x):
    """sinc''(0) = -pi**2/3; where-guarded formula gives 0 (also sympy#11402), torch NaN."""
    return np.sinc(x)


@case(
    "pytorch/pytorch#79487",
    (A([1.0, 2.0, 2.0, 4.0]),),
    A([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]),
    want="hessian",
    tol=1e-06,
)
def det_hessian_singular(v):
    """Hessian of det of a singular 2x2: constant, inverse-based rule breaks."""
    return np.linalg.det(np.reshape(v, (2, 2)))


@case(
    "Hipparchus-Math/hipparchus#411", (A([0.5, 0.0]),), A([[0.0, 4.0], [4.0, 0.0]]), want="hessian"
)
def arctan2_hessian_on_axis(v):
    """second derivatives of arctan2(y, x) at x = 0 (NaN through y/x)."""
    return np.arctan2(v[0], v[1])


@case("jax-ml/jax#2107", (0.0,), 0.25, order=2)
def logaddexp_second_at_tie(x):
    """softplus'' = 1/4 at 0."""
    return np.logaddexp(x, 0.0)


@case("DiffSharp/DiffSharp#328", (A([1.0, 2.0]),), np.zeros((2, 2)), want="hessian")
def hessian_of_constant(x):
    """function ignoring its input."""
    return 7.0


@case("ml-explore/mlx#4114", (A([3.0, 1.0, 2.0]),), np.diag([6.0, 2.0, 4.0]), want="hessian")
def hessian_through_sort(x):
    """sort's permutation is locally constant: Hessian of sum(w*sort(x)**2)."""
    return np.sum(A([1.0, 2.0, 3.0]) * np.sort(x) ** 2)


@case("HIPS/autograd#39", (A([1.0, 2.0]),), A([[4.0, 3.0], [3.0, 0.0]]), want="hessian")
def hessian_gather_duplicates(x):
    """duplicate gather then product: f = x0*x0*... second derivative accumulates."""
    y = x[[0, 0, 1]]
    return 2.0 * y[0] * y[1] + 3.0 * y[1] * y[2]
