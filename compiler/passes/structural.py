"""All rewriting functions, by the operator at the root of what they rewrite.

Each takes the simplifier, the operands and the parameters of one application and returns an
equivalent node, or None. The families: ``arrange`` (layout, sums and products over it),
``select`` (where, indexing), ``support`` (structural zeros), ``sums`` (signs, common factors,
the logistic loss).
"""

from ..ops.row import Op
from ..ops.table import TABLE
from . import arrange, select, sums, support
from .rewriter import Rewrite

_FAMILIES = (sums, select, arrange, support)

STRUCTURAL: dict[Op, tuple[Rewrite, ...]] = {}
for _family in _FAMILIES:
    for _op, _rewrite in _family.REWRITES:
        STRUCTURAL[_op] = (*STRUCTURAL.get(_op, ()), _rewrite)
for _op in TABLE.values():
    if _op.batch is None and not _op.params:
        STRUCTURAL[_op] = (*STRUCTURAL.get(_op, ()), arrange.elementwise(_op))
