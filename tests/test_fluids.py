"""The library ``fluids``, unmodified: gradients of its documented examples against differences."""

import re
from pathlib import Path

import fluids_harness as harness
import numpy as np
import pytest

# Outcomes other than agreement, all of which docs/fluids.md explains.
KNOWN = {
    "bend_miter": "one-sided", "contraction_round_Miller": "one-sided",
    "diffuser_conical_staged": "one-sided", "K_tilting_disk_check_valve_Crane": "one-sided",
    "Montillet_Akkari_Comiti": "one-sided", "motor_efficiency_underloaded": "one-sided",
    "SA_from_h": "one-sided", "gauge_from_t": "refused", "size_control_valve_l": "refused",
    "t_from_gauge": "refused", "v_terminal": "refused", "V_from_h": "refused",
    "SA_partial_horiz_torispherical_head": "nan",
    "time_v_terminal_Stokes": "differs"}
EXAMPLES = list(harness.examples())
MODULES = sorted({example.module for example in EXAMPLES})


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.filterwarnings("ignore")          # the library's own, and arguments without influence
@np.errstate(all="ignore")
def test_gradients_of_a_module(module, capsys):
    outcomes = {e.name: harness.check(e) for e in EXAMPLES if e.module == module}
    unexpected = {name: outcome for name, outcome in outcomes.items()
                  if outcome.kind != KNOWN.get(name, "agrees")}
    assert not unexpected


def test_share_of_agreement():
    names = {example.name for example in EXAMPLES}
    assert len(EXAMPLES) >= 440
    assert set(KNOWN) <= names
    # A slope that is right on one side of a corner is right.
    failing = [name for name, kind in KNOWN.items() if kind != "one-sided"]
    assert len(failing) <= 0.03 * len(EXAMPLES)
    assert [name for name in failing if KNOWN[name] == "differs"] == ["time_v_terminal_Stokes"]


def test_every_exception_is_explained():
    text = (Path(__file__).parents[1] / "docs" / "fluids.md").read_text()
    explained = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", text, re.MULTILINE))
    assert explained == KNOWN
