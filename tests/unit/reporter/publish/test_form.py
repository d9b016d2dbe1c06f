"""A form of the user's own is tried before anything else happens, and a mistake in it is one
sentence.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reporter.core.errors import UsageError
from reporter.core.settings import Options
from reporter.publish.form import check_form
from tests.support.created import SCRIPTS, command


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / {"form": "form.toml", "issue": "issue.md.j2"}[name]).write_text(text)
    return tmp_path


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "no template": ({"form": ""}, "has no issue.md.j2"),
    "no TOML": ({"form": "a = [", "issue": ""}, "is not TOML"),
    "an unknown key": ({"form": "headers = []", "issue": ""}, "no key 'headers'"),
    "a wrong value": ({"form": "limit = 'long'", "issue": ""}, "limit in"),
    "a wrong list": ({"form": "labels = 'bug'", "issue": ""}, "must be a list of texts"),
    "a syntax error": ({"issue": "{% if %}"}, "line 1"),
    "an unknown name": ({"issue": "{{ repro }}{{ reqro }}"}, "'reqro' is undefined"),
    "an unknown filter": ({"issue": "{{ repro | fense }}"}, "fense"),
    "an unknown file": ({"issue": '{% include "parts/none.j2" %}'}, "parts/none.j2"),
    "a way out": ({"issue": '{% include "../../etc/passwd" %}'}, "which is not there"),
    "an attack": ({"issue": "{{ ''.__class__.__mro__ }}{{ repro }}"}, "unsafe"),
    "an endless range": ({"issue": "{% for i in range(10 ** 9) %}{% endfor %}"}, "fails"),
    "no repro": ({"issue": "{{ title }}"}, "leaves out the repro"),
    "other headings": ({"form": 'headings = ["# A"]', "issue": "# B\n{{ repro }}"}, "headings"),
    "too small": ({"form": "limit = 20", "issue": "{{ repro }}"}, "limit of 20"),
    "a wrong type": ({"issue": "{{ repro }}{{ repro / 2 }}"}, "TypeError"),
}


@pytest.mark.parametrize(("files", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_it_is_one_sentence(files: dict[str, Any], said: str, tmp_path: Path) -> None:
    own = folder(tmp_path, **files)
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        check_form(Options(template=own))
    assert "\n" not in str(caught.value) and "--template" in str(caught.value)


def test_a_bad_form_ends_the_command_before_it_runs_anything(tmp_path: Path) -> None:
    done = command("create", "--json", "--template", "nowhere", SCRIPTS / "toy.py", cwd=tmp_path)
    assert done.returncode == 2 and "nor a folder" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
