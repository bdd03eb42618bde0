"""Nested arguments and results: dicts, lists, tuples, namedtuples, dataclasses (by optree)."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import optree

from ..arraytype import ArrayType

NAMESPACE = "wengert"
_REGISTERED: set[type] = set()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure; None is a structure without leaves."""
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    while any(_register_dataclass(leaf) for leaf in leaves):
        leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    if any(isinstance(leaf, np.dtype) for leaf in leaves):   # the inside of an ArrayType, a leaf
        leaves, spec = optree.tree_flatten(tree, is_leaf=_is_type, namespace=NAMESPACE)
    return leaves, spec


def unflatten(spec: Any, leaves: Sequence[Any]) -> Any:
    """Inverse of :func:`flatten`."""
    return optree.tree_unflatten(spec, leaves)


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """Where each leaf is: the keys and indices that lead to it."""
    flatten(tree)
    return list(optree.tree_paths(tree, is_leaf=_is_type, namespace=NAMESPACE))


def _is_type(tree: Any) -> bool:
    return isinstance(tree, ArrayType)


def places(tree: Any, name: str) -> list[str]:
    """Each leaf as the user would write it, such as ``weights['a'][0]``."""
    flatten(tree)
    return [accessor.codify(name) for accessor in optree.tree_accessors(
        tree, is_leaf=_is_type, namespace=NAMESPACE)]


def _register_dataclass(leaf: Any) -> bool:
    kind = type(leaf)
    if not dataclasses.is_dataclass(leaf) or isinstance(leaf, type) or kind in _REGISTERED:
        return False
    names = tuple(f.name for f in dataclasses.fields(leaf))

    def split(value: Any) -> tuple[Any, ...]:
        return tuple(getattr(value, n) for n in names), None, names

    def join(_: Any, children: Iterable[Any]) -> Any:
        new = object.__new__(kind)          # __post_init__ may reject traced values
        for name, child in zip(names, children, strict=True):
            object.__setattr__(new, name, child)
        return new
    optree.register_pytree_node(kind, split, join, namespace=NAMESPACE)
    _REGISTERED.add(kind)
    return True
