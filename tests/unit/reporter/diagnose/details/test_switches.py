"""The table of settings: what of it is tried, and that it is in order."""

from __future__ import annotations

from reporter.diagnose.details.switches import SWITCHES, select_switches

FUSION = "torch._inductor.config.epilogue_fusion"
ORDER = "torch._inductor.config.pick_loop_orders"


def test_switches_that_change_nothing_are_not_tried() -> None:
    found = select_switches("inductor", "cpu", {FUSION: False, ORDER: True})
    assert [switch.setting for switch in found if switch.config] == [ORDER + " = False"]
    assert not any(
        "triton" in switch.setting for switch in select_switches("inductor", "cpu", None)
    )


def test_every_layer_has_switches_and_no_setting_twice() -> None:
    for layer, switches in SWITCHES.items():
        written = [switch.setting for switch in switches]
        assert written and len(set(written)) == len(written), layer
