"""What is private whoever wrote it: credentials, addresses, paths, and the names of this
machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from anonymizer.leakcheck.patterns import (
    Identity,
    PatternMatch,
    find_addresses,
    find_credentials,
    find_identity,
)
from anonymizer.leakcheck.scanner import Terms
from tests.support.leaks import SOMEBODY, run


def test_a_version_of_four_numbers_is_no_address() -> None:
    text = "[pip3] nvidia-cublas==13.4.1.3\n[conda] mkl==2024.0.1.46\n"
    assert run({"issue.md": text}, Terms(), SOMEBODY).passed


@pytest.mark.parametrize(
    ("outgoing", "kind"),
    [
        ("File '/home/anyone/x.py'", "path"),
        ("see /Users/Anyone/work", "path"),
        (r"C:\Users\anyone\x.py", "path"),
        ("/tmp/torchinductor_jdoe77/ab/cd.cpp", "path"),
        ("mail a.b@corp.example now", "e-mail address"),
        ("host 10.1.22.3 answered", "IP address"),
        ("https://git.corp.example/x", "URL"),
        ("run by jdoe77 on it", "user name"),
        ("on tycho-gpu3 today", "host name"),
        ("in /home/jdoe77/x", "home folder"),
        ('key = "AKIAIOSFODNN7EXAMPLE"', "credential (AWS Access Key)"),
        (
            "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8  # pragma: allowlist secret",
            "credential (GitHub Token)",
        ),
    ],
)
def test_private_whoever_wrote_it(outgoing: str, kind: str) -> None:
    result = run({"issue.md": f"first line\n{outgoing}\n"}, Terms(), SOMEBODY)
    assert kind in {finding.kind for finding in result.findings}
    assert all(finding.line == 2 for finding in result.findings)


@pytest.mark.parametrize(
    "outgoing",
    [
        "https://github.com/pytorch/pytorch/issues/1",
        "/usr/bin/ld: cannot find -lfoo",
        "cuDNN 9.1.0, torch 2.13.0+cpu, at 127.0.0.1",
        'File "torch/_inductor/compile_fx.py", line 12',
        "a/b/home/c and x.max() by the root user at localhost",
    ],
)
def test_what_everybody_could_have_written_passes(outgoing: str) -> None:
    assert (
        run({"issue.md": outgoing}, Terms(), Identity("/root", "max", "localhost")).findings == ()
    )


def test_user_with_a_common_name_is_found_in_a_path_only() -> None:
    who = Identity("", "max", "")
    assert run({"repro.py": "torch.max(x)"}, Terms(), who).passed
    assert not run({"issue.md": "see drive/max/x"}, Terms(), who).passed


def told(matches: Iterable[PatternMatch]) -> list[tuple[int, str, str]]:
    return [(match.start, match.text, match.kind) for match in matches]


@pytest.mark.parametrize(
    ("text", "address", "kind"),
    [
        ("x a.b+c@corp-1.example.org.", "a.b+c@corp-1.example.org", "e-mail address"),
        ("<jo@x.y>", "jo@x.y", "e-mail address"),
        ("at 10.1.22.3.", "10.1.22.3", "IP address"),
        ("1.2.3.4a", "1.2.3.4", "IP address"),
        ("see HTTPS://X.Y/z)", "HTTPS://X.Y/z", "URL"),
        ("ab://q", "ab://q", "URL"),
        (r"see https://a.example/d?x=y\n\nFor", "https://a.example/d?x=y", "URL"),
        (r"smb://\\nas\share", r"smb://\\nas", "URL"),
        (r"https://pytorch.org\@corp.example/x", "https://pytorch.org", "URL"),
        ("https://pytorch.org.corp.example/", "https://pytorch.org.corp.example/", "URL"),
        ("https://notpytorch.org", "https://notpytorch.org", "URL"),
        ("https://github.com/me/pytorch", "https://github.com/me/pytorch", "URL"),
        ("ftp://python.org/x", "ftp://python.org/x", "URL"),
        ("in /home/jo now", "/home/jo", "path"),
        ("see:/data/set1", "/data/set1", "path"),
        ("/workspaces/x/y.py", "/workspaces/x/y.py", "path"),
        ("or ~/x", "~/x", "path"),
        (r"D:\jo me\x", r"D:\jo me\x", "path"),
        (r"in \\nas-01\jo$\x", r"\\nas-01\jo$", "path"),
        ("[2001:db8:1::1]:80", "2001:db8:1::1", "IP address"),
        ("fe80::1ff:fe23:4567:890a%eth0", "fe80::1ff:fe23:4567:890a", "IP address"),
        ("ether 00:1a:2b:3c:4d:5e,", "00:1a:2b:3c:4d:5e", "MAC address"),
        ("00-1A-2B-3C-4D-5E", "00-1A-2B-3C-4D-5E", "MAC address"),
        ("https://tok@pytorch/x", "https://tok@pytorch/x", "URL"),
        ("https://pytorch.org:tok@evil/x", "https://pytorch.org:tok@evil/x", "URL"),
    ],
)
def test_an_address_is_found_with_its_place(text: str, address: str, kind: str) -> None:
    assert told(find_addresses(text)) == [(text.index(address), address, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "@corp.example",
        "a@b",
        "110.1.22.300",
        "127.0.0.1",
        "0.0.0.0",
        "1.2.3",
        "1.2.3.4.5",
        "::1 and :: and a::b, add::dead::beef, x[2000::3], 20:30:10",
        "00:1a:2b:3c:4d and 00-1a:2b-3c:4d-5e",
        r"{\\bf x\\y}",
        "https://pytorch.org:443/a@b",
        "v1.2.3.4",
        "mkl==1.2.3.4",
        "a://q",
        "https://pytorch.org",
        "https://dev-discuss.pytorch.org/t",
        "https://python.org:80",
        "https://github.com/triton-lang#x",
        "http://www.w3.org/2000/svg",
        "/home",
        "/usr/lib/x",
        "a/home/jo",
        "~x",
        "</data/x",
    ],
)
def test_what_is_no_address_or_everybodys(text: str) -> None:
    assert told(find_addresses(text)) == []


def test_an_address_that_is_a_known_release_may_leave() -> None:
    assert told(find_addresses("11.10.3.66 and 10.1.22.3", frozenset({"11.10.3.66"}))) == [
        (15, "10.1.22.3", "IP address")
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("in /home/jdoe77", {"/home/jdoe77", "jdoe77"}),
        ("in /home/jdoe77/x", {"/home/jdoe77", "jdoe77"}),
        ("in /home/jdoe778", set()),
        ("by JDoe77, who", {"JDoe77"}),
        ("x_jdoe77_y", {"jdoe77"}),
        ("xjdoe77", set()),
        ("jdoe77x", set()),
        ("on TYCHO-gpu3", {"TYCHO-gpu3"}),
        ("on tycho-gpu33", set()),
        ("on tycho-gpu3.lab.example", {"tycho-gpu3", "tycho-gpu3.lab.example"}),
    ],
)
def test_the_names_of_this_machine_are_found_by_value(text: str, names: set[str]) -> None:
    assert {match.text for match in find_identity(text, SOMEBODY, frozenset())} == names


@pytest.mark.parametrize(
    ("who", "kinds"),
    [
        (Identity("/root", "root", "localhost"), set()),
        (Identity("/ab", "ab", "12345"), set()),
        (Identity("/abc", "", ""), {"home folder"}),
        (Identity("", "abc", ""), {"user name"}),
        (Identity("", "", "1ab"), {"host name"}),
        (Identity("", "Ubuntu", "runner.local"), {"host name"}),
        (Identity(), set()),
    ],
)
def test_a_name_that_tells_nothing_is_not_looked_for(who: Identity, kinds: set[str]) -> None:
    text = "/root /ab /abc root ab abc 12345 1ab ubuntu localhost runner runner.local"
    assert {match.kind for match in find_identity(text, who, frozenset())} == kinds


@pytest.mark.parametrize(
    ("text", "is_account"),
    [
        ("torch.max(x)", False),
        ("a/max/x", True),
        ("a\\max\\x", True),
        ("a/max", False),
        ("Max@corp", True),
        ("xmax@corp", False),
        ("torchinductor_max/x", True),
        ("amax/x", False),
    ],
)
def test_a_common_name_counts_where_it_names_an_account(text: str, is_account: bool) -> None:
    found = told(find_identity(text, Identity("", "max", ""), frozenset({"max"})))
    assert bool(found) is is_account
    assert all(kind == "user name" for _, _, kind in found)


def test_a_credential_is_found_in_its_line_and_a_public_value_is_none() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    text = f'first\r\nsecond "{key}"\nlast'
    assert told(find_credentials(text, frozenset())) == [
        (text.index(key), key, "credential (AWS Access Key)")
    ]
    assert told(find_credentials(text, frozenset({key}))) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('password = "hunter2-and-more"', "Secret Keyword"),
        ("-----BEGIN RSA PRIVATE KEY-----", "Private Key"),
        ("https://jo:hunter2andmore@corp.example", "Basic Auth Credentials"),
        ("xoxb-" + "1234567890-abcdefghijkl", "Slack Token"),
        ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "Stripe Access Key"),
        ("npm = '" + "glpat-" + "abcdefghij0123456789'", "GitLab Token"),
    ],
)
def test_each_sort_of_credential_is_looked_for(line: str, kind: str) -> None:
    assert f"credential ({kind})" in {match.kind for match in find_credentials(line, frozenset())}


def test_this_machine_has_a_home_and_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/zorblax")
    monkeypatch.setenv("LOGNAME", "zorblax")
    who = Identity.from_this_machine()
    assert (who.home, who.user) == ("/home/zorblax", "zorblax") and who.host


def test_a_document_that_torch_points_to_is_public_at_the_end_of_a_line_of_json() -> None:
    document = "https://docs.example/d/1?usp=sharing"
    text = json.dumps({"message": f"see {document}\n\nFor more"})
    assert told(find_addresses(text, frozenset([document]))) == []
