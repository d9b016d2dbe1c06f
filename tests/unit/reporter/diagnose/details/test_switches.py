"""The table of settings: what of it is tried, and that it is in order."""

from __future__ import annotations

from reporter.core.kinds import Kind
from reporter.diagnose.details.switches import SWITCHES, select_switches

FUSION = "torch._inductor.config.epilogue_fusion"
ORDER = "torch._inductor.config.pick_loop_orders"


def test_switches_that_change_nothing_are_not_tried() -> None:
    found = select_switches("inductor", Kind.WRONG_RESULT, "cpu", {FUSION: False, ORDER: True})
    assert [switch.setting for switch in found if switch.config] == [ORDER + " = False"]
    usual = select_switches("inductor", Kind.WRONG_RESULT, "cpu", None)
    assert not any("triton" in switch.setting for switch in usual)


def test_no_loop_of_generated_code_is_varied_where_metadata_is_wrong() -> None:
    loops = {"torch._inductor.config.cpp.simdlen = 1", "torch.set_num_threads(1)"}
    for kind, are_tried in ((Kind.WRONG_RESULT, True), (Kind.WRONG_METADATA, False)):
        found = {one.setting for one in select_switches("inductor", kind, "cpu", None)}
        assert loops <= found if are_tried else not loops & found
        assert "torch._inductor.config.max_fusion_size = 1" in found


def test_every_layer_has_switches_and_no_setting_twice() -> None:
    for layer, switches in SWITCHES.items():
        written = [switch.setting for switch in switches]
        assert written and len(set(written)) == len(written), layer
