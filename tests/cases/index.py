"""Indexing and interpolation."""

import numpy as np

from cases.case import A, case


@case(
    "PyAutoLabs/PyAutoArray#281",
    (A([0.25, 2.0, 9.0]), A([1.0, 2.0, 4.0])),
    A([0.75, 0.25, 2.0]),
    argnum=1,
)
def interp_wrt_fp(x, fp):
    """np.interp wrt the table values, points inside, on the last knot and beyond."""
    return np.sum(np.interp(x, A([0.0, 1.0, 2.0]), fp))


@case("EconForge/interpolation.py#94", (A([0.25, 1.5, 9.0]),), A([1.0, 2.0, 0.0]))
def interp_wrt_x(x):
    """slope of the segment, 0 outside (clamped)."""
    return np.sum(np.interp(x, A([0.0, 1.0, 2.0]), A([1.0, 2.0, 4.0])))


@case("pytorch/pytorch#1528", (A([2.0]),), A([1.0]))
def gather_last_duplicate_only(x):
    """backward through the second of two duplicates (only the last copy received gradient)."""
    return x[[0, 0]][0]


@case("pymc-devs/pytensor#1292", (np.arange(4.0),), A([0.0, 0.0, 0.0, 6.0]))
def slice_then_last(x):
    """x[1:][-1]: offset of the outer slice lost / nested zero buffers."""
    return x[1:][-1] ** 2


def _mix_expected():
    g = np.zeros((2, 3, 4))
    g[:, [0, 2], :] += np.arange(16.0).reshape(2, 2, 4)
    w = np.arange(6.0).reshape(2, 3)
    for r, (i, k) in enumerate([(0, 3), (1, 0)]):
        for j in range(3):
            g[i, j, k] += w[r, j]
    return g


@case("tinygrad/tinygrad#2706", (np.arange(24.0).reshape(2, 3, 4),), _mix_expected())
def newaxis_ellipsis_mix(x):
    """x[..., None, [0,2], :] and x[[0,1], :, [3,0]] (advanced indices split by a slice move to
    the front)."""
    a = x[..., None, [0, 2], :]
    b = x[[0, 1], :, [3, 0]]
    return np.sum(np.arange(16.0).reshape(2, 1, 2, 4) * a) + np.sum(
        np.arange(6.0).reshape(2, 3) * b
    )


@case(
    "HIPS/autograd#639",
    (np.arange(9.0).reshape(3, 3),),
    A([[0.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 28.0, 0.0]]),
)
def ix_with_duplicates(x):
    """np.ix_ with a repeated column."""
    return np.sum(x[np.ix_([0, 2], [1, 1])] ** 2)


@case("HIPS/autograd#263", (A([5.0, 6.0, 7.0]),), A([1.0, 1.0, 3.0]))
def add_at_duplicate_indices(x):
    """np.add.at accumulates where y[idx] += x does not."""
    y = np.zeros(3)
    np.add.at(y, [0, 0, 2], x)
    return np.sum(A([1.0, 2.0, 3.0]) * y)
