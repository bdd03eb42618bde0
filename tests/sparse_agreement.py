"""A sparse derivative against the dense one."""

import numpy as np
import wengert as wg


def dense_of(derivative, function, x, **options):
    return np.asarray(derivative(function, **options)(x)).reshape(-1, x.size)


def check(function, x, derivative=wg.jacobian, sparse="csr", **options):
    """Pattern and values against the dense derivative; the compiled sparse one."""
    compiled = derivative(function, sparse=sparse, **options)
    with np.errstate(all="ignore"):
        found, dense = compiled(x), dense_of(derivative, function, x)
    assert found.format == sparse
    assert found.shape == dense.shape
    mask = compiled.pattern.toarray()
    assert not np.any(dense[~mask]), "a true non-zero outside of the pattern"
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-10, atol=1e-10)
    assert found.nnz == mask.sum()
    return compiled
