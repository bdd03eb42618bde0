"""The text forms of a graph print and parse; the verifier finds what is wrong with one."""

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.arraytype import ArrayType, parse_type
from wengert.compiler.draw import to_dot
from wengert.compiler.errors import Origin, ParseError, VerifyError
from wengert.compiler.graph import (
    CAPTURED,
    CONSTANT,
    INPUT,
    Builder,
    Graph,
    Guard,
    Node,
    topological,
)
from wengert.compiler.interpret import interpret
from wengert.compiler.ops import arithmetic, reduction, transcendental
from wengert.compiler.ops.table import TABLE
from wengert.compiler.text import format_excerpt, format_wengert, parse
from wengert.compiler.verify import verify

FLOAT = ArrayType((), np.dtype(float))


def lecture(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def round_trip(graph):
    parsed = parse(str(graph))
    assert parsed == graph
    assert str(parsed) == str(graph)
    return parsed


@pytest.mark.parametrize("value", [
    0.0, -0.0, 1e-320, 1.7976931348623157e308, 0.1, np.nan, np.inf, -np.inf, 3, -2, True, False,
    1 + 2j, complex(-0.0, np.inf), complex(np.nan, -0.0),
    np.float32(0.1), np.float16(0.1), np.float64(-0.0), np.int8(-5), np.uint64(2 ** 63),
    np.bool_(True), np.complex64(0.1 + 2j), np.array(2.5), np.array([]), np.zeros((0, 3)),
    np.array([[1.5, np.nan], [-0.0, np.inf]]), np.array([True, False]),
    np.array([0.1, 0.2], np.float32), np.array([1 + 1j, np.nan]), np.array([2 ** 62, -1])],
    ids=repr)
def test_every_constant_reads_back_as_itself(value):
    builder = Builder()
    x = builder.input(FLOAT, "x")
    constant = builder.constant(value)
    graph = builder.graph([x, constant])
    parsed = round_trip(graph)
    back = parsed.outputs[1]
    assert type(back.value) is type(constant.value) or np.ndim(value) or isinstance(
        value, np.ndarray)
    assert np.asarray(back.value).dtype == np.asarray(value).dtype
    assert np.asarray(back.value).tobytes() == np.asarray(value).tobytes()


def test_graphs_that_differ_in_a_sign_of_zero_differ():
    def graph(zero):
        builder = Builder()
        x = builder.input(FLOAT)
        return builder.graph([builder.emit(arithmetic.add, (x, builder.constant(zero)))])
    assert graph(0.0) != graph(-0.0)
    assert graph(0.0) != graph(0)
    assert graph(np.nan) == graph(np.nan)
    assert len({graph(0.0), graph(0.0)}) == 1


def test_names_and_types_of_inputs():
    builder = Builder("named")
    builder.input(ArrayType((2, 3), np.dtype(np.float32)), "θ")
    for name in ("params_my key", "it's", 'with "both" it\'s', "a, %1 b: f64[]", "back\\slash"):
        builder.input(FLOAT, name)
    builder.input(ArrayType((), np.dtype(float), weak=True))
    parsed = round_trip(builder.graph([builder.inputs[0]]))
    assert [n.origin.name if n.origin else None for n in parsed.inputs] == [
        n.origin.name if n.origin else None for n in builder.inputs]


def test_guards_captured_arrays_and_several_results():
    captured = np.array([1.0, 2.0])
    builder = Builder("branchy")
    builder.by_reference = {id(captured): captured}
    x = builder.input(ArrayType((2,), np.dtype(float)), "x")
    total = builder.emit(reduction.sum, (x,), ((0,), False))
    builder.guards += [Guard(total, 1.5), Guard(total, True), Guard(total, -3), Guard(total, 1j)]
    y = builder.emit(arithmetic.mul, (x, builder.constant(captured)))
    graph = builder.graph([y, x])
    parsed = parse(str(graph))
    assert str(parsed) == str(graph)
    assert [g.expected for g in parsed.guards] == [1.5, True, -3, 1j]
    assert parsed != graph              # another array, which may change on its own
    (leaf,) = [n for n in parsed.nodes if n.op is CAPTURED]
    np.testing.assert_array_equal(leaf.value, captured)
    if "svd" in TABLE:
        round_trip(wg.trace(lambda a: np.linalg.svd(a))(np.eye(2)))


def test_a_parsed_graph_computes_the_same():
    graph = wg.trace(lecture)(2.0, 5.0)
    for a, b in zip(interpret(graph, 2.0, 5.0), interpret(parse(str(graph)), 2.0, 5.0),
                    strict=True):
        assert a == b
        assert a == pytest.approx(11.652071455223084)


@pytest.mark.parametrize(("text", "message"), [
    ("hello", "not the first line"),
    ("graph f(%0 x: f64[]) {\n  return %0", "not the first line"),
    ("graph f(x: f64[]) {\n  return %0\n}", "does not begin with an input"),
    ("graph f(%0 x: f64[]) {\n  %1: f64[] = sine(%0)\n  return %1\n}", "no operator named 'sine'"),
    ("graph f(%0 x: f64[]) {\n  %1 is sin(%0)\n  return %1\n}", "is not a node"),
])
def test_what_is_not_a_graph(text, message):
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_the_lectures_notation():
    assert format_wengert(wg.trace(lecture)(2.0, 5.0)) == "\n".join([
        "v₋₁ = x1", "v₀ = x2", "v₁ = ln v₋₁", "v₂ = v₋₁·v₀", "v₃ = v₁ + v₂", "v₄ = sin v₀",
        "v₅ = v₃ − v₄"])


def test_excerpt_marks_the_node():
    graph = wg.trace(lecture)(2.0, 5.0)
    text = format_excerpt(graph, 3, around=1)
    assert text.splitlines()[1].startswith("-> %3")
    assert len(text.splitlines()) == 3


def test_types_parse_back():
    for text in ("f64[2,3]", "f32[]", "i64[0]", "bool[3]", "c128[1,1]", "float", "int", "bool",
                 "complex", "u8[2]", "f16[4]"):
        assert str(parse_type(text)) == text


# -- the drawing -----------------------------------------------------------------------------------


def test_drawing_has_a_box_a_node_and_an_arrow_an_operand():
    graph = wg.trace(lambda x, y: np.where(x > 0, np.sum(x * y), 2.0) if y else x)(
        np.ones(2), 3.0)
    text = to_dot(graph)
    assert text.startswith("digraph ")
    assert text.count(" [label=") == len(graph.nodes) + len(graph.guards)
    assert text.count("->") == sum(len(n.args) for n in graph.nodes) + len(graph.guards)
    assert text.count("peripheries=2") == len(set(graph.outputs))
    assert text.count("shape=diamond") == len(graph.guards) == 1
    assert "f64[2]" in text
    assert "f64[2]" not in to_dot(graph, types=False)


def test_drawing_escapes_names():
    builder = Builder()
    builder.input(FLOAT, 'a "quoted" \\ name')
    assert 'a \\"quoted\\" \\\\ name' in to_dot(builder.graph([builder.inputs[0]]))


# -- the verifier ----------------------------------------------------------------------------------


def good():
    builder = Builder()
    x = builder.input(FLOAT, "x")
    y = builder.emit(transcendental.sin, (x,))
    return builder.graph([builder.emit(arithmetic.mul, (x, y))])


def replaced(graph, **changes):
    fields = {name: getattr(graph, name) for name in ("name", "inputs", "outputs", "nodes",
                                                      "guards")}
    return Graph(**(fields | changes))


def test_a_good_graph_passes():
    graph = good()
    assert verify(graph) is graph


def test_the_verifier_finds_faults():
    graph = good()
    x, y, z = graph.nodes
    stranger = Node(transcendental.sin, (x,), (), FLOAT)
    wrong_type = Node(transcendental.cos, (x,), (), ArrayType((2,), np.dtype(float)))
    wrong_params = Node(reduction.sum, (x,), (), FLOAT)
    valueless = Node(CONSTANT, (), (), FLOAT)
    faults = {
        "comes later or is missing": replaced(graph, nodes=(x, z, y)),
        "listed twice": replaced(graph, nodes=(x, y, y, z)),
        "not the input nodes": replaced(graph, inputs=()),
        "not in the graph": replaced(graph, outputs=(stranger,)),
        "type rule gives": replaced(graph, nodes=(x, y, z, wrong_type)),
        "do not fit": replaced(graph, nodes=(x, y, z, wrong_params)),
        "value is missing": replaced(graph, nodes=(x, y, z, valueless)),
    }
    for message, graph in faults.items():
        with pytest.raises(VerifyError, match=message):
            verify(graph)
    guarded = replaced(good(), guards=(Guard(stranger, True),))
    with pytest.raises(VerifyError, match="not in the graph"):
        verify(guarded)


def test_the_verifier_shows_the_neighbourhood():
    x = Node(INPUT, (), (), FLOAT, Origin("", 0, "x"))
    bad = Node(transcendental.sin, (x,), (), ArrayType((2,), np.dtype(float)))
    with pytest.raises(VerifyError, match=r"-> %1: f64\[2\] = sin\(%0\)"):
        verify(Graph("f", (x,), (bad,), (x, bad)))


# -- the builder -----------------------------------------------------------------------------------


def test_equal_applications_are_shared():
    builder = Builder()
    x = builder.input(FLOAT)
    assert builder.emit(transcendental.sin, (x,)) is builder.emit(transcendental.sin, (x,))
    assert builder.constant(2.0) is builder.constant(2.0)
    assert builder.constant(2.0) is not builder.constant(2)
    assert builder.constant(0.0) is not builder.constant(-0.0)
    assert builder.constant(True) is not builder.constant(1)


def test_a_constant_does_not_follow_the_array_it_was_made_of():
    builder = Builder()
    array = np.array([1.0, 2.0])
    node = builder.constant(array)
    array[0] = 9.0
    np.testing.assert_array_equal(node.value, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        node.value[0] = 3.0


def test_topological_order_of_a_deep_graph():
    builder = Builder()
    node = x = builder.input(FLOAT)
    for _ in range(20_000):
        node = builder.emit(arithmetic.add, (node, x))
    order = topological([node])
    assert order == builder.nodes
