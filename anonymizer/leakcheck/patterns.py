"""What is private whoever wrote it: credentials, addresses, absolute paths, and this machine's own
names.

These need no knowledge of the program. Credentials are found by the plugins of `detect-secrets`,
called one by one: that way there is no network verification, no allow-list comment that could wave
a line through, and no global state.
"""

from __future__ import annotations

import functools
import getpass
import ipaddress
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NewType

from anonymizer.leakcheck.terms import TermKind

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# `nvidia-cublas==13.4.1.3` is how pip writes a version; nothing writes an address that way
_IPV4 = re.compile(r"(?<![\w.])(?<!\w==)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)")
#: Three groups at least: `x[2000::3]` is a slice.
_IPV6 = re.compile(
    r"(?<![\w:.])(?=(?:[0-9a-f]*:){2,7}[0-9a-f]*(?![\w:]))"
    r"(?=(?:[0-9a-f]+:+){2}[0-9a-f])[0-9a-f:]+",
    re.IGNORECASE,
)
#: Those that machines have; other numbers of this form are names of C++, such as `a::b`.
_IPV6_NETWORKS = tuple(map(ipaddress.IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10")))
_MAC = re.compile(
    r"(?<![\w:-])[0-9a-f]{2}(?P<between>[:-])(?:[0-9a-f]{2}(?P=between)){4}[0-9a-f]{2}(?![\w:-])",
    re.IGNORECASE,
)
# a backslash ends it: JSON writes the end of a line as one and an n
_URL = re.compile(r"\b[a-z][a-z0-9+]{1,9}://\\*[^\s\"'<>)\]`\\]+", re.IGNORECASE)
_LINE_END = re.compile(r"\\(?:[nrt\"]|$)|(?!\\)")
_PUBLIC_URL = re.compile(
    r"https?://(?![^/?#]*@)(?:[\w-]+\.)*(?:pytorch\.org|python\.org|meta-pytorch\.github\.io"
    r"|github\.com/(?:pytorch|triton-lang)|w3\.org)(?:[/:#?]|$)",
    re.IGNORECASE,
)
_ROOTS = (
    "home|Users|root|mnt|tmp|var|opt|data|srv|scratch|private|workspace|workspaces|media|nfs|fsx"
    "|shared|"
    "Volumes|work|build|builds|projects|storage|gpfs|lustre|efs|run|app|content|kaggle|dbfs"
    "|export|net|nas"
)
_PATH = re.compile(
    rf"(?<![\w.<>/~-])/(?:{_ROOTS})(?:/[\w.+@-]+)+|~/[\w.+-]+|\b[A-Za-z]:\\[\w.\\ -]+"
    r"|(?<![\\\w:/])\\\\[\w.-]+\\[\w.$-]+"
)
_NOBODY = frozenset(
    """root user users admin administrator localhost ubuntu debian runner docker container build
    builder ci jenkins test dev worker node host server local nobody default guest vscode codespace
    sagemaker""".split()
)
_PLUGINS = {
    "artifactory": ("ArtifactoryDetector",),
    "aws": ("AWSKeyDetector",),
    "azure_storage_key": ("AzureStorageKeyDetector",),
    "basic_auth": ("BasicAuthDetector",),
    "cloudant": ("CloudantDetector",),
    "discord": ("DiscordBotTokenDetector",),
    "github_token": ("GitHubTokenDetector",),
    "gitlab_token": ("GitLabTokenDetector",),
    "high_entropy_strings": ("Base64HighEntropyString", "HexHighEntropyString"),
    "jwt": ("JwtTokenDetector",),
    "keyword": ("KeywordDetector",),
    "mailchimp": ("MailchimpDetector",),
    "npm": ("NpmDetector",),
    "openai": ("OpenAIDetector",),
    "private_key": ("PrivateKeyDetector",),
    "pypi_token": ("PypiTokenDetector",),
    "sendgrid": ("SendGridDetector",),
    "slack": ("SlackDetector",),
    "square_oauth": ("SquareOAuthDetector",),
    "stripe": ("StripeDetector",),
    "telegram_token": ("TelegramBotTokenDetector",),
    "twilio": ("TwilioKeyDetector",),
}


@dataclass(frozen=True)
class Identity:
    """The names this machine and its user go by; an empty one is not looked for."""

    home: str = ""
    user: str = ""
    host: str = ""

    @classmethod
    def from_this_machine(cls) -> Identity:
        """The values of the running process; what cannot be found out is left empty."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = ""
        try:
            home = str(Path.home())
        except RuntimeError:
            home = ""
        return cls(home, user, socket.gethostname())


#: That something looks like a key or a token, and what kind of one, in the words of detect-secrets.
CredentialKind = NewType("CredentialKind", str)
#: What was found in a text that is about to leave.
LeakKind = (
    TermKind
    | Literal["rare word", "phrase", "number"]
    | Literal["e-mail address", "IP address", "MAC address", "URL", "path"]
    | Literal["home folder", "user name", "host name"]
    | CredentialKind
)


@dataclass(frozen=True)
class PatternMatch:
    """One place in a text: the offset, the private text itself and its kind."""

    start: int
    text: str
    kind: LeakKind


def find_addresses(text: str, allowed: frozenset[str] = frozenset()) -> Iterator[PatternMatch]:
    """Addresses of mail and of machines, URLs outside the public projects, absolute paths.

    Args:
        text: what is searched; offsets of the matches are in its characters.
        allowed: public values that look like an address: the release of a package (11.10.3.66),
            documents that messages of torch point to.
    """
    for found in _EMAIL.finditer(text):
        yield PatternMatch(found.start(), found.group(), "e-mail address")
    for found in (*_IPV4.finditer(text), *_IPV6.finditer(text)):
        if found.group() not in allowed and _is_telling_address(found.group()):
            yield PatternMatch(found.start(), found.group(), "IP address")
    for found in _MAC.finditer(text):
        yield PatternMatch(found.start(), found.group(), "MAC address")
    for found in _URL.finditer(text):
        is_whole = _LINE_END.match(text, found.end()) is not None
        is_public = _PUBLIC_URL.match(found.group()) or found.group().rstrip(".,;:") in allowed
        if not (is_whole and is_public):
            yield PatternMatch(found.start(), found.group(), "URL")
    for found in _PATH.finditer(text):
        yield PatternMatch(found.start(), found.group(), "path")


def _is_telling_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return any(address in network for network in _IPV6_NETWORKS)
    return not (address.is_loopback or address.is_unspecified)


def find_identity(text: str, who: Identity, known: frozenset[str]) -> Iterator[PatternMatch]:
    """The home folder, the user's and the host's name by value.

    Args:
        text: what is searched.
        who: the names; an empty one is not looked for.
        known: ordinary words, lower case. A name that is one of them (a user called `max`) counts
            only where it names an account or a folder, because `torch.max` would give an alarm
            otherwise.
    """
    if len(who.home.strip("/\\")) >= 3 and who.home.strip("/\\").lower() not in _NOBODY:
        for found in re.finditer(re.escape(who.home) + r"(?![\w])", text):
            yield PatternMatch(found.start(), found.group(), "home folder")
    names: tuple[tuple[str, LeakKind], ...] = (
        (who.user, "user name"),
        (who.host, "host name"),
        (who.host.split(".")[0], "host name"),
    )
    for name, kind in names:
        if len(name) < 3 or name.lower() in _NOBODY or name.isdigit():
            continue
        if name.lower() in known:
            own = re.escape(name)
            account = rf"(?<=[/\\]){own}(?=[/\\])|\b{own}(?=@)|(?<=_){own}(?=/)"
            pattern = account
        else:
            pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield PatternMatch(found.start(), found.group(), kind)


@functools.lru_cache(maxsize=1)
def _load_detectors() -> tuple[Any, ...]:
    import importlib

    made: list[Any] = []
    for module_name, classes in _PLUGINS.items():
        module = importlib.import_module(f"detect_secrets.plugins.{module_name}")
        made.extend(getattr(module, name)() for name in classes)
    return tuple(made)


def find_credentials(text: str, allowed: frozenset[str]) -> Iterator[PatternMatch]:
    """What looks like a key or a token.

    Args:
        text: what is searched.
        allowed: public values that look like one, such as a git revision.
    """
    offset = 0
    for line in text.splitlines(keepends=True):
        for value, kind in _find_secrets(line.rstrip("\r\n")):
            if value not in allowed:
                start = offset + max(0, line.find(value))
                yield PatternMatch(start, value, CredentialKind(f"credential ({kind})"))
        offset += len(line)


@functools.lru_cache(maxsize=4096)
def _find_secrets(line: str) -> tuple[tuple[str, str], ...]:
    """The values in a line that look secret, with their kinds; the same lines are checked when
    written and when filed.
    """
    return tuple(
        (secret.secret_value, secret.type)
        for detector in _load_detectors()
        for secret in detector.analyze_line(filename="report", line=line, line_number=1)
        if secret.secret_value
    )
