"""Settings by their full name."""

from __future__ import annotations

import json.decoder

import pytest

from collectors.machine import torch_settings


def test_settings_are_found_by_their_full_name() -> None:
    before = json.decoder.FLAGS
    try:
        torch_settings.set_settings({"json.decoder.FLAGS": 5})
        assert json.decoder.FLAGS == torch_settings.read_setting("json.decoder.FLAGS") == 5
        for name in ("json.decoder.NONE", "no_such_module.NONE"):
            with pytest.raises(torch_settings.NoSuchSettingError, match=name):
                torch_settings.set_settings({name: 1})
    finally:
        json.decoder.FLAGS = before
