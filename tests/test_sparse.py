"""Sparse Jacobians and Hessians against dense ones: forms, arguments, guards, sharing, memory."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
import wengert as wg
from sparse_agreement import check
from wengert.compiler.errors import (
    ModeError,
    NotSquareError,
    SingularPatternError,
    SparseRequestError,
)
from wengert.runtime import chunks

# -- forms and arguments --------------------------------------------------------------------------

X = np.linspace(0.2, 1.3, 12)


def chain(x):
    return x[1:] * x[:-1] ** 2


def arrow(x):
    return np.concatenate([[np.sum(x ** 2)], x[0] * x[1:] + x[1:] ** 2])


def energy(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def tangled(x):
    i, j = np.array([0, 1, 2, 3, 0, 5, 4, 7, 7, 2]), np.array([4, 5, 6, 3, 7, 1, 1, 6, 0, 4])
    return np.sum(np.sin(x[i] * x[j]) * x[j])


@pytest.mark.parametrize("sparse", ["csr", "csc", "coo"])
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize(("function", "derivative"), [
    (chain, wg.jacobian), (arrow, wg.jacobian), (energy, wg.hessian), (tangled, wg.hessian)])
def test_forms_and_modes(function, derivative, mode, sparse):
    check(function, X, derivative, sparse, mode=mode)


def test_substitution_takes_fewer_sweeps():
    i, j = np.random.default_rng(2).integers(0, 40, (2, 150))

    def value(x):
        return np.sum(np.sin(x[i] * x[j]))
    x = np.linspace(0.1, 1.0, 40)
    compiled = check(value, x, wg.hessian, mode="substitution")
    direct = wg.hessian(value, sparse=True)
    direct.specialize(x)
    assert compiled.colors < direct.colors
    with pytest.raises(ModeError):
        wg.hessian(value, mode="substitution")


def test_true_is_compressed_rows():
    found = wg.jacobian(chain, sparse=True)(X)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.has_canonical_format
    assert found.dtype == np.float64


def test_auto_is_dense_where_that_is_as_good():
    small = wg.jacobian(lambda x: np.outer(x, x)[0], sparse="auto")
    assert isinstance(wg.jacobian(chain, sparse="auto")(X), scipy.sparse.csr_array)
    dense = wg.jacobian(lambda x: np.sum(x) * x, sparse="auto")
    assert isinstance(dense(X), np.ndarray)
    assert isinstance(small(X[:3]), np.ndarray)
    with pytest.raises(AttributeError, match="is dense and has no colors"):
        _ = dense.colors


def test_an_unknown_form_is_refused():
    with pytest.raises(SparseRequestError, match="sparse='dia' is no form"):
        wg.jacobian(chain, sparse="dia")


def test_pattern_and_colors_are_there_before_anything_has_run():
    calls = []

    def noted(x):
        calls.append(0)
        return chain(x)
    jac = wg.jacobian(noted, sparse=True)
    with pytest.raises(AttributeError, match="not been specialized"):
        _ = jac.pattern
    jac.specialize(wg.compiler.arraytype.ArrayType((1000,), np.dtype(float)))
    assert jac.colors == 2
    assert jac.pattern.shape == (999, 1000)
    assert jac.pattern.dtype == bool
    report = jac.report()
    assert "999 x 1000, 1998 entries" in report
    assert "2 colours" in report
    assert "bytes" in report
    assert len(calls) == 1


def test_other_arguments_and_argnums():
    def rhs(t, y, k=2.0, *, scale="on"):
        return y * np.roll(y, 1) * k * t * (3.0 if scale == "on" else 1.0)
    jac = wg.jacobian(rhs, 1, sparse=True)
    for options in ({}, {"k": 0.5}, {"scale": "off"}, {"k": 3.0, "scale": "off"}):
        np.testing.assert_allclose(jac(0.3, X, **options).toarray(),
                                   wg.jacobian(rhs, 1)(0.3, X, **options))
    by_name = wg.jacobian(rhs, "y", sparse=True)
    np.testing.assert_array_equal(by_name(0.3, X).toarray(), jac(0.3, X).toarray())


def test_nested_arguments_give_nested_matrices():
    def model(p):
        return {"fit": p["a"][1:] * p["b"] ** 2, "size": np.sum(p["a"].reshape(-1, 1))}
    p = {"a": X[:5], "b": X[5:9]}
    jac, dense = wg.jacobian(model, sparse=True), wg.jacobian(model)(p)
    found = jac(p)
    for out in ("fit", "size"):
        for name in ("a", "b"):
            assert found[out][name].shape == (4 if out == "fit" else 1, p[name].size)
            np.testing.assert_array_equal(found[out][name].toarray().ravel(),
                                          dense[out][name].ravel())
            assert jac.pattern[out][name].shape == found[out][name].shape
    assert jac.pattern["size"]["b"].nnz == 0


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_hessian_by_several_arguments(mode):
    def value(a, b):
        return np.sum(a[1:] * a[:-1] * b) + b[0] ** 2 * a[0]
    a, b = X[:5], X[5:9]
    found = wg.hessian(value, (0, 1), mode=mode, sparse=True)(a, b)
    dense = wg.hessian(value, (0, 1))(a, b)
    for i in (0, 1):
        for j in (0, 1):
            np.testing.assert_allclose(found[i][j].toarray(), dense[i][j], atol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_auxiliary_results_come_along(mode):
    def with_more(x):
        y = chain(x)
        return y, {"total": np.sum(y), "first": x[0]}
    found, more = wg.jacobian(with_more, has_aux=True, mode=mode, sparse=True)(X)
    np.testing.assert_allclose(found.toarray(), wg.jacobian(chain)(X))
    assert more == {"total": np.sum(chain(X)), "first": X[0]}


def test_arrays_of_any_shape_count_their_elements():
    def heat(u):
        p = np.pad(u, 1)
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u * u
    check(heat, np.linspace(0.1, 1.0, 20).reshape(4, 5))
    check(lambda u: np.sum(heat(u) ** 2), np.linspace(0.1, 1.0, 20).reshape(4, 5), wg.hessian)


def test_sizes_zero_and_one():
    empty = wg.jacobian(lambda x: x ** 2, sparse=True)(np.zeros(0))
    assert empty.shape == (0, 0)
    assert wg.jacobian(lambda x: x[:0], sparse=True)(X).shape == (0, 12)
    assert wg.jacobian(lambda x: np.arange(3.0), sparse=True)(X).nnz == 0
    one = wg.jacobian(lambda x: x ** 2, sparse=True)(3.0)
    assert one.shape == (1, 1)
    assert one[0, 0] == 6.0
    assert wg.hessian(lambda x: x ** 3, sparse=True)(2.0)[0, 0] == 12.0


def test_single_precision_stays_single():
    for mode in ("auto", "forward", "reverse"):
        found = wg.jacobian(lambda x: 2.0 * x[1:] * x[:-1] + 1.5 * x[1:], mode=mode, sparse=True)(
            X.astype(np.float32))
        assert found.dtype == np.float32
    assert wg.hessian(energy, sparse=True)(X.astype(np.float32)).dtype == np.float32


def test_precision_is_that_of_the_argument():
    def mixed(a, b):
        return a[1:] * b[1:] * b[:-1]
    a, b = X.astype(np.float32), X
    dense = wg.jacobian(mixed, (0, 1))(a, b)
    for mode in ("auto", "forward"):
        found = wg.jacobian(mixed, (0, 1), mode=mode, sparse=True)(a, b)
        assert [f.dtype for f in found] == [np.float32, np.float64] == [d.dtype for d in dense]
        for f, d in zip(found, dense, strict=True):
            np.testing.assert_allclose(f.toarray(), d, rtol=1e-6)


def test_complex_numbers_are_refused():
    with pytest.raises(SparseRequestError, match="complex result"):
        wg.jacobian(lambda x: np.exp(1j * x), sparse=True)(X)
    with pytest.raises(SparseRequestError, match="complex argument"):
        wg.jacobian(lambda z: np.abs(z), sparse=True)(X + 1j)


def test_inside_of_a_trace_it_is_refused():
    with pytest.raises(SparseRequestError, match="traced values"):
        wg.grad(lambda x: np.sum(wg.jacobian(chain, sparse=True)(x) @ x))(X)


def test_guards_have_patterns_of_their_own():
    def branching(x):
        if x[0] > 0:
            return x ** 2
        return x * np.roll(x, 1)
    jac = wg.jacobian(branching, sparse=True)
    assert jac(X).nnz == 12
    assert jac(-X).nnz == 24
    for x in (X, -X, X * 2.0):
        np.testing.assert_allclose(jac(x).toarray(), wg.jacobian(branching)(x))
    assert len(jac.programs) == 2


def test_functions_of_elements_have_a_formula_for_each_entry():
    def robertson(t, y):
        return np.array([-0.04 * y[0] + 1e4 * y[1] * y[2],
                         0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])
    jac = wg.jacobian(robertson, 1, sparse=True)
    y = np.array([0.9, 2e-5, 0.1])
    np.testing.assert_allclose(jac(0.0, y).toarray(), [
        [-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
        [0.0, 6e7 * y[1], 0.0]])
    assert jac.pattern.nnz == 7
    assert "60000000.0 * y1" in jac.source


def test_what_is_not_selected_contributes_no_nan():
    """√x₁ has an infinite slope at 0, which must not reach the entry beside it."""
    def product(x):
        return x[:-1] * np.sqrt(x[1:])
    x = np.array([1.0, 0.0, 4.0, 0.0])
    with np.errstate(all="ignore"):
        dense = wg.jacobian(product)(x)
        for mode in ("auto", "forward", "reverse"):
            np.testing.assert_array_equal(wg.jacobian(product, mode=mode, sparse=True)(x).toarray(),
                                          dense)


EDGES = {
    "chosen": lambda x: np.sqrt(np.where(x > 0.5, x, 0.0)),
    "filled": lambda x: np.sqrt(np.concatenate([np.where(x[1:] > 0.5, x[1:], 0.0), x[:1]])),
    "grid": lambda x: np.sqrt(np.pad(np.where(x > 0.5, x, 0.0).reshape(3, 4), 1)[1:, :-1]).ravel(),
    "gathered": lambda x: np.sqrt(np.where(x > 0.5, x, 0.0)[[3, 0, 0, 11]]),
    "product": lambda x: np.prod(x.reshape(-1, 2), axis=1) * x[:6] ** 2,
    "length": lambda x: np.linalg.norm((x - x[0]).reshape(-1, 2), axis=1),
    "clipped": lambda x: np.log(np.clip(x, 0.4, 0.8)),
}


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", EDGES)
def test_edges_are_those_of_the_dense_derivative(name, mode):
    function, x = EDGES[name], X.copy()
    x[[2, 5]] = 0.0
    with np.errstate(all="ignore"):
        dense = wg.jacobian(function)(x)
        found = wg.jacobian(function, mode=mode, sparse=True)(x).toarray()
    np.testing.assert_allclose(found, dense, rtol=1e-12)


def test_rules_of_the_users_own():
    @wg.custom_vjp
    def cube(x):
        return x ** 3
    cube.defvjp(lambda x: (x ** 3, x), lambda x, ct: (3.0 * x ** 2 * ct,))

    @wg.custom_jvp
    def shifted(x):
        return np.roll(x, 1) * 2.0

    @shifted.defjvp
    def _(primals, tangents):
        return shifted(primals[0]), np.roll(tangents[0], 1) * 2.0
    softplus = wg.elementwise("softplus_sparse", "log(1 + exp(x))")
    for function, nnz in ((lambda x: cube(x) * x, 12), (lambda x: shifted(x) * x[0], 23),
                          (lambda x: softplus(x) + np.roll(x, 1), 24)):
        for mode in ("auto", "forward", "reverse"):
            compiled = check(function, X, mode=mode)
            assert compiled.pattern.nnz == nnz
    hessian = check(lambda x: np.sum(cube(x) * softplus(np.roll(x, 1))), X, wg.hessian)
    assert hessian.pattern.nnz == 36


# -- what callers may do with the result ----------------------------------------------------------


@pytest.mark.parametrize("sparse", ["csr", "csc", "coo"])
def test_results_are_independent(sparse):
    jac = wg.jacobian(chain, sparse=sparse)
    first = jac(X)
    kept = first.toarray()
    first.data[:] = 0.0
    np.testing.assert_array_equal(jac(X).toarray(), kept)
    indices = first.row if sparse == "coo" else first.indices
    with pytest.raises(ValueError, match="read-only"):
        indices[0] = 5
    copy = jac(X).copy()
    copy.data[0] = 0.0
    copy = copy.tocsr()
    copy.eliminate_zeros()
    assert copy.nnz == first.nnz - 1


@pytest.mark.parametrize("sparse", ["csr", "csc", "coo"])
def test_solvers_take_the_shared_indices(sparse):
    def system(x):
        return 3.0 * x + np.roll(x, 1) * x
    found, dense = wg.jacobian(system, sparse=sparse)(X), wg.jacobian(system)(X)
    right = np.arange(12.0)
    want = np.linalg.solve(dense, right)
    np.testing.assert_allclose(scipy.sparse.linalg.spsolve(found.tocsc(), right), want)
    np.testing.assert_allclose(scipy.sparse.linalg.splu(found.tocsc()).solve(right), want)
    np.testing.assert_allclose(scipy.sparse.linalg.gmres(found, right, rtol=1e-12)[0], want,
                               rtol=1e-6)
    np.testing.assert_allclose((found.T @ found).toarray(), dense.T @ dense)
    assert scipy.sparse.csgraph.connected_components(found)[0] == 1
    np.testing.assert_allclose((found + scipy.sparse.eye_array(12)).toarray(), dense + np.eye(12))


def test_pickled_and_copied():
    jac = wg.jacobian(chain, sparse=True)
    want = jac(X).toarray()
    again = pickle.loads(pickle.dumps(jac))
    found = again(X)
    np.testing.assert_array_equal(found.toarray(), want)
    assert again.colors == jac.colors
    assert not found.indices.flags.writeable
    np.testing.assert_array_equal(again.pattern.toarray(), jac.pattern.toarray())


def test_threads_share_one():
    jac = wg.jacobian(chain, sparse=True)
    wrong = []

    def work(k):
        x = X + k
        wrong.extend(k for _ in range(20)
                     if not np.array_equal(jac(x).toarray(), wg.jacobian(chain)(x)))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


MATRIX = np.zeros((12, 12))


def test_a_captured_matrix_may_change():
    """Its zeros are made use of; another entry makes another pattern."""
    MATRIX[:] = np.diag(np.arange(1.0, 13.0))
    jac = wg.jacobian(lambda x: MATRIX @ x ** 2, sparse=True)
    assert jac(X).nnz == 12
    MATRIX[3, 7] = 5.0
    np.testing.assert_allclose(jac(X).toarray(), MATRIX * 2.0 * X)
    MATRIX[3, 7] = 0.0
    np.testing.assert_allclose(jac(X).toarray(), MATRIX * 2.0 * X)


def test_a_saved_module_gives_the_entries(tmp_path):
    jac = wg.jacobian(chain, sparse=True, mode="forward")
    want = jac(X)
    path = jac.save(tmp_path / "chain_jacobian.py")
    namespace = {"__file__": str(path), "__name__": "saved"}
    exec(path.read_text(), namespace)
    np.testing.assert_array_equal(namespace["chain_jacobian"](X), want.data)


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("limit", [30, 100, 10_000])
def test_sweeps_in_chunks(monkeypatch, mode, limit, tmp_path):
    monkeypatch.setattr(chunks, "LIMIT", limit)
    rng = np.random.default_rng(0)
    i = rng.integers(0, 12, (20, 3))

    def coupled(x):
        return np.cumprod(np.sin(x[i]), axis=1).sum(axis=1)
    jac = check(coupled, X, mode=mode)
    assert (f"seeds in {'all_seeds'}" in jac.source) == (limit < 10_000)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(jac.specialize(X))).raw(X), jac(X).data)


# -- solvable systems -----------------------------------------------------------------------------


def structurally_singular(x):
    return np.stack([x[0] ** 2, x[0] * 2.0, x[1] * x[2]])


@pytest.mark.parametrize(("function", "error", "message"), [
    (chain, NotSquareError, "11 rows and 12 columns"),
    (lambda x: x * (np.arange(12) != 4), SingularPatternError, "row 4 is empty"),
    (lambda x: np.roll(x[[0, 0, *range(2, 12)]], 1) * x[0], SingularPatternError,
     "column 1 is empty"),
    (lambda x: np.concatenate([x[:1] ** 2, 2.0 * x[:1], x[1:11] * x[2:]]), SingularPatternError,
     "row [01] has no pivot"),
])
def test_a_system_that_cannot_be_solved_is_named(function, error, message):
    jac = wg.jacobian(function, sparse=True)
    jac.specialize(X)
    with pytest.raises(error, match=message):
        jac.require_solvable()


def test_a_system_that_can_be_solved():
    jac = wg.jacobian(lambda x: x * np.roll(x, 1), sparse=True)
    jac.specialize(X)
    jac.require_solvable()


# -- known sizes ----------------------------------------------------------------------------------


def test_the_rosenbrock_hessian_is_tridiagonal():
    x = np.linspace(-1.2, 1.0, 100_000)
    hess = wg.hessian(energy, sparse=True)
    found = hess(x)
    assert hess.colors == 3
    diagonal = np.zeros(len(x))
    diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    want = scipy.sparse.diags_array([-400.0 * x[:-1], diagonal, -400.0 * x[:-1]],
                                    offsets=[-1, 0, 1])
    assert abs(found - want).max() < 1e-10
    assert hess.pattern.nnz == want.nnz


def test_counts_of_known_shapes():
    def laplace(u):
        p = np.pad(u, 1)
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u ** 2

    def colors(derivative, function, x):
        compiled = derivative(function, sparse=True)
        compiled.specialize(x)
        return compiled.colors
    assert colors(wg.jacobian, lambda x: np.convolve(x, [1.0, -2.0, 1.0], "same") + x ** 3,
                  np.zeros(10_000)) == 3
    assert colors(wg.jacobian, laplace, np.zeros((60, 60))) <= 6
    assert colors(wg.jacobian, arrow, np.ones(500)) <= 3
    assert colors(wg.hessian, lambda x: np.sum(x[0] * x[1:] ** 3 + x[1:] ** 2), np.ones(500)) == 2
    assert colors(wg.jacobian, lambda x: np.sum(x) * x, np.ones(50)) == 50
