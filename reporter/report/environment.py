"""What a report may say of the machine: each fact with the values that may leave.

`build_public_environment` builds the facts anew from this table. A fact that is not in it does not
leave. Environment variables and settings of torch are built by the target, since only the torch
there knows which words it has registered (`collectors.machine.configs`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anonymizer.leakcheck.scanner import list_texts
from reporter.core.json_values import Json
from reporter.report import public_values as public

_CACHE_LEVEL = re.compile(r"L[1-4][di]?")
_CACHE_SIZE = re.compile(r"\d{1,7}[KMG]")
_CPU_NUMBER = re.compile(r"0x[0-9a-f]{1,4}|\d{1,5}")
_SETTING = re.compile(r"torch(?:\._\w+|\.compiler)?\.config(?:\.[A-Za-z]\w*)+")


_Build = Callable[[object, Mapping[str, object]], object]


@dataclass(frozen=True)
class Fact:
    """One fact: its name in `EnvironmentFacts`, what leaves of it, and how that is built.

    `build` gets the value and all facts as the target sent them.
    """

    name: str
    leaves: str
    build: _Build


def _ignore_context(build: Callable[[object], object]) -> _Build:
    return lambda value, _: build(value)


def _allow_words(words: frozenset[str], instead: str | None = None) -> _Build:
    return lambda value, _: value if value in words else instead


def _read_members(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _read_items(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


def _read_flag(value: object, _: object = None) -> bool | None:
    return value if isinstance(value, bool) else None


def _read_count(value: object, _: object = None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_numbers(value: object, _: object = None) -> str | None:
    return public.read_public_numbers(value)


def _read_torch(value: object, facts: Mapping[str, object]) -> str:
    return public.read_public_version(value, git=facts.get("git"))


def _read_python(value: object) -> str:
    found = re.match(r"\d{1,2}\.\d{1,3}\.\d{1,3}(?:(?:a|b|rc)\d{1,3})?\+?", str(value))
    return found.group() if found else "unknown"


def _read_libc(value: object) -> str | None:
    found = re.fullmatch(r"(?:glibc|musl|libc)(?:-\d{1,3}(?:\.\d{1,3}){0,3})?", str(value))
    return found.group() if found else None


def _select_words(value: object, known: frozenset[str]) -> str | None:
    return " ".join(word for word in str(value or "").split() if word in known) or None


def _read_processor(value: object) -> Json:
    given = _read_members(value)
    vendor = given.get("vendor")
    found: Json = {
        "model": public.read_public_processor(given.get("model")),
        "vendor": vendor if vendor in public.VENDOR_WORDS else _read_cpu_number(vendor),
        "caches": {
            level: size
            for level, size in _read_members(given.get("caches")).items()
            if _CACHE_LEVEL.fullmatch(level) and _CACHE_SIZE.fullmatch(str(size))
        },
        "flags": _select_words(given.get("flags"), public.VECTOR_WORDS) or "",
        "virtual": bool(given.get("virtual")),
    }
    found.update(
        {name: _read_cpu_number(given.get(name)) for name in ("family", "number", "stepping")}
    )
    found.update({name: _read_count(given.get(name)) for name in ("usable", "nodes")})
    return found


def _read_cpu_number(value: object) -> str | None:
    return str(value) if _CPU_NUMBER.fullmatch(str(value)) else None


def _read_tools(value: object) -> Json:
    given = _read_members(value)
    found = {
        name: public.read_public_numbers(given.get(name)) for name in ("clang", "cmake", "nvcc")
    }
    cudnn = [
        public.read_public_numbers(part)
        for part in re.split(r",\s*", str(given.get("cudnn") or ""))
    ]
    return {
        **found,
        "gcc": public.read_public_gcc(given["gcc"]) if given.get("gcc") else None,
        "compiler": public.read_public_compiler(given.get("compiler")),
        "cudnn": ", ".join(part for part in cudnn if part) or None,
    }


def _read_packages(value: object, facts: Mapping[str, object]) -> Json:
    return {
        name: public.read_public_version(version, git=facts.get("git"), package=name)
        for name, version in _read_members(value).items()
        if public.is_public_package(name)
    }


def _read_rocm(value: object) -> Json:
    given = _read_members(value)
    names = ("HIP Runtime", "MIOpen", "ROCm")
    return {name: public.read_public_numbers(given[name]) for name in names if name in given}


def _read_triton(value: object) -> Json:
    given = _read_members(value)
    if not given:
        return {}
    version = given.get("version")
    return {
        "version": public.read_public_version(version, package="triton") if version else None,
        "backends": [name for name in _read_items(given.get("backends")) if name in _BACKENDS],
        "interpret": bool(given.get("interpret")),
    }


_BACKENDS = public.TRITON_BACKENDS


def _read_settings(value: object) -> Json:
    return {
        name: item
        for name, item in _read_members(value).items()
        if _SETTING.fullmatch(name) and (item is None or isinstance(item, (bool, int, float, str)))
    }


def _read_variables(value: object) -> Json:
    return {
        name: item
        for name, item in _read_members(value).items()
        if re.fullmatch(r"[A-Z][A-Z0-9_]*", name) and isinstance(item, str)
    }


def _read_caches(value: object) -> Json:
    return {
        name: item
        for name, item in _read_members(value).items()
        if re.fullmatch(r"[a-z_]+_caches?", name) and (item is None or isinstance(item, bool))
    }


_RELEASE = "its numbers"
#: All facts that leave; `docs/reference/what-leaves.md` shows it.
FACTS = (
    Fact(
        "torch",
        "release, with a local part of torch's own wheels (`cpu`, `cu126`, `rocm6.4`, `xpu`) or the"
        " commit that torch reports; another local part is `+local`",
        _read_torch,
    ),
    Fact("git", "40 hexadecimal digits", _ignore_context(public.read_public_commit)),
    Fact("debug", "yes or no", _read_flag),
    Fact("cuda", _RELEASE, _read_numbers),
    Fact("hip", _RELEASE, _read_numbers),
    Fact("xpu", _RELEASE, _read_numbers),
    Fact("python", "its release", _ignore_context(_read_python)),
    Fact(
        "python_compiler",
        "`GCC`, `Clang` or `MSC`, and its numbers",
        lambda value, _: public.read_public_compiler(value) or "",
    ),
    Fact(
        "implementation",
        "`CPython`, `PyPy`, `GraalVM`, `IronPython`",
        _allow_words(public.IMPLEMENTATIONS, "another implementation"),
    ),
    Fact("bits", "32 or 64", _read_count),
    Fact(
        "os",
        "names of well-known distributions, their numbers, and major.minor.patch of the kernel",
        _ignore_context(public.read_public_system),
    ),
    Fact(
        "machine",
        "a well-known architecture (`x86_64`, `aarch64`, …)",
        _allow_words(public.MACHINES, "another architecture"),
    ),
    Fact("libc", "`glibc`, `musl` or `libc`, and its numbers", _ignore_context(_read_libc)),
    Fact(
        "cpu",
        "the words that vendors have for their products, and the numbers of the product",
        _ignore_context(public.read_public_processor),
    ),
    Fact(
        "processor",
        "model as `cpu`; vendor, family, model number, stepping; sizes of the caches; number of"
        " cores and NUMA nodes; whether it is virtual; flags of the vector units from a list",
        _ignore_context(_read_processor),
    ),
    Fact("cores", "a number", _read_count),
    Fact("threads", "a number", _read_count),
    Fact(
        "cpu_capability",
        "names of instruction sets",
        lambda value, _: _select_words(value, public.ISA_WORDS),
    ),
    Fact(
        "vector_isa",
        "names of instruction sets",
        lambda value, _: _select_words(value, public.ISA_WORDS),
    ),
    Fact(
        "compiler",
        "the family that the compiler itself reports (`g++`, `clang`, `icpx`, …) and its numbers,"
        " never its path or file name",
        _ignore_context(public.read_public_compiler),
    ),
    Fact(
        "tools",
        "numbers of GCC, Clang, CMake, nvcc and cuDNN; who built GCC, where it is a distribution",
        _ignore_context(_read_tools),
    ),
    Fact(
        "cuda_available",
        "yes or no",
        _read_flag,
    ),
    Fact(
        "gpus",
        "models, as `cpu`",
        lambda value, _: [public.read_public_device(name) for name in _read_items(value)],
    ),
    Fact("driver", _RELEASE, _read_numbers),
    Fact(
        "cudnn", _RELEASE, lambda value, _: _read_count(value) or public.read_public_numbers(value)
    ),
    Fact("rocm", "numbers of HIP, MIOpen and ROCm", _ignore_context(_read_rocm)),
    Fact("xpu_available", "yes or no", _read_flag),
    Fact(
        "libraries",
        "`MKL`, `oneDNN`, `OpenMP`, `XNNPACK`",
        lambda value, _: [name for name in _read_items(value) if name in public.LIBRARIES],
    ),
    Fact("pip", _RELEASE, lambda value, _: public.read_public_numbers(value) or ""),
    Fact(
        "packages",
        "releases of the packages that torch's own `collect_env` lists; other packages are not"
        " named",
        _read_packages,
    ),
    Fact("conda", "the same of the conda environment", _read_packages),
    Fact(
        "triton", "release, its backends, whether it is interpreted", _ignore_context(_read_triton)
    ),
    Fact(
        "variables",
        "those that torch and its libraries read, by a list; of their values numbers, yes and no,"
        " and words that are registered for the variable; else `(set)`",
        _ignore_context(_read_variables),
    ),
    Fact(
        "configs",
        "settings of torch that are not at their default; of their values numbers, yes and no, and"
        " texts that torch's own configuration file spells out; else `(changed)`",
        _ignore_context(_read_settings),
    ),
    Fact(
        "choices",
        "names of settings",
        lambda value, _: [n for n in _read_items(value) if _is_setting(n)],
    ),
    Fact("caches", "yes or no, by the name of torch's setting", _ignore_context(_read_caches)),
)


def _is_setting(name: object) -> bool:
    return _SETTING.fullmatch(str(name)) is not None


def build_public_environment(facts: Mapping[str, object]) -> Json:
    """The facts as they may leave; applied twice it changes nothing."""
    return {fact.name: fact.build(facts[fact.name], facts) for fact in FACTS if fact.name in facts}


def list_withheld(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Words of the facts that do not leave: what the leak check has to look for.

    Among them are the names of all packages that no list of ours has, with their releases.
    """
    left = {word for text in list_texts(build_public_environment(facts)) for word in text.split()}
    words = (word for text in list_texts(facts) for word in text.split())
    return tuple(sorted({word for word in words if word not in left}))
