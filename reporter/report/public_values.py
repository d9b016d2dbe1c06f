"""Values that are everybody's: releases, and the words that vendors and projects print on their
products.

What is not one of them is replaced by a word of ours or left out. Nothing is cut out of a private
text: the public parts are taken, and a new text is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: What stands for the local part of a version that is nobody else's.
LOCAL = "+local"
_RELEASE = re.compile(
    r"\d{1,4}(?:\.\d{1,6}){0,3}(?:(?:a|b|rc)\d{1,3})?(?:\.post\d{1,3})?(?:\.dev\d{1,8})?"
)
_NUMBERS = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,3}")
#: Local parts of torch's own wheels: pytorch.org, PyPI, and the vendors of ROCm and XPU.
_BUILD = re.compile(
    r"cpu(?:\.cxx11\.abi)?|cu\d{2,3}(?:\.with\.pypi\.cudnn)?|rocm\d(?:\.\d{1,2}){0,2}|xpu"
)
#: A commit, in a build from source and in the containers of AMD and NVIDIA.
_COMMIT = re.compile(
    r"(?:rocm\d(?:\.\d{1,2}){0,2}(?:\.lw)?\.)?(?:git)?([0-9a-f]{7,40})(?:\.nv\d\d\.\d\d)?"
)
_HASH = re.compile(r"[0-9a-f]{40}")
#: Triton's releases for nightlies of torch have the commit that torch pins.
_TRITON = re.compile(r"(?:pytorch-)?triton(?:-rocm|-xpu)?")
_TRITON_COMMIT = re.compile(r"(?:git)?(?=[a-f]*\d)[0-9a-f]{8,10}")

_SYSTEM_WORDS = frozenset("""
    Debian GNU/Linux Ubuntu LTS Red Hat Enterprise Linux CentOS Stream Fedora Rocky AlmaLinux
    Amazon Oracle Server SUSE openSUSE Leap Tumbleweed SP1 SP2 SP3 SP4 SP5 SP6 SP7 Arch Alpine
    NixOS Gentoo Gentoo/Linux Mint Pop!_OS Kali Manjaro Azure CBL-Mariner/Linux Flatcar Container
    Image Cloud Edition Workstation Photon OS macOS Windows (wheezy) (jessie) (stretch) (buster)
    (bullseye) (bookworm) (trixie) (forky) trixie/sid forky/sid (Core) (Ootpa) (Plow) (Coughlan)
    (Green Obsidian) (Blue Onyx)
    """.split())
_PROCESSOR_WORDS = frozenset("""
    Intel(R) Xeon(R) Core(TM) Core Ultra Pentium(R) Celeron(R) Atom(TM) Gen CPU Processor @
    Platinum Gold Silver Bronze Max AMD EPYC Ryzen Threadripper PRO AI Athlon Opteron(TM)
    Radeon Graphics w/ with Apple Pro Ampere(R) Altra(R) Neoverse-N1 Neoverse-V1 Neoverse-N2
    Neoverse-V2 Cortex-A72 Cortex-A76 Cortex-A78 POWER8 POWER9 POWER10 QEMU Virtual version Common
    KVM processor (Skylake, (Cascadelake, (Icelake, (Haswell, (Broadwell, IBRS) IBRS, TSX) no
    (SapphireRapids) HygonGenuine Hygon
    """.split())
_PROCESSOR_NUMBER = re.compile(
    r"\d{1,2}th|\d{1,3}-Core|\d\.\d{1,2}GHz|v[1-9]"
    r"|(?:i[3579]|m[357]|[EDWNM]|w[3579]|[xX][57])?\d?-?\d{1,5}[A-Z]{0,2}\d{0,2}[A-Z]?\+?"
)
_DEVICE_WORDS = frozenset("""
    NVIDIA Tesla GeForce RTX GTX Quadro TITAN Titan Xp Ti SUPER Super Laptop GPU Graphics Ada
    Generation
    Blackwell Workstation Server Edition Max-Q Design with PCIe PCIE NVL MIG GRID Jetson Orin
    Xavier AGX Thor Superchip AMD Instinct Radeon Pro PRO RX XT XTX Intel(R) Arc(TM) Data Center
    Max Flex Series gfx
    """.split())
_DEVICE_NUMBER = re.compile(
    r"\d{1,4}GB|HBM\de?|SXM\d?|\dg\.\d{1,2}gb|gfx\d{2,4}[a-f]?"
    r"|(?:[A-Z]{1,2})?\d{1,5}[A-Z]{0,2}(?:-(?:SXM\d|PCIE|PCIe|HBM\d|\d{1,3}GB|\d{1,2}C|DGXS))*"
)
VECTOR_WORDS = frozenset("""
    sse4_2 avx avx2 fma f16c avx_vnni avx_vnni_int8 avx_vnni_int16 avx_ifma avx_ne_convert avx512f
    avx512dq avx512cd avx512bw avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni
    avx512_bitalg avx512_vpopcntdq avx512_bf16 avx512_fp16 avx512_vp2intersect avx512_4vnniw
    avx512_4fmaps avx512er avx512pf avx10 amx_tile amx_int8 amx_bf16 amx_fp16 amx_complex asimd
    asimdhp asimdrdm asimddp asimdfhm sve sve2 sveaes svepmull svebitperm svesha3 svesm4 svei8mm
    svef32mm svef64mm svebf16 fphp bf16 i8mm vsx vx
    """.split())
#: Instruction sets as torch and Inductor name them.
ISA_WORDS = VECTOR_WORDS | frozenset("""
    DEFAULT NO AVX AVX2 AVX512 AVX512_VNNI VSX Z VECTOR ZVECTOR SVE SVE128 SVE256 avx512 zvector
    neon
    sve256 sve128 none
    """.split())
#: As `CPU_VENDOR` of cpuinfo says it; on other processors it is a number.
VENDOR_WORDS = frozenset("GenuineIntel AuthenticAMD HygonGenuine CentaurHauls IBM/S390".split())
MACHINES = frozenset("""
    x86_64 AMD64 amd64 aarch64 arm64 ppc64le s390x riscv64 loongarch64 i686 i386 armv7l
    """.split())
IMPLEMENTATIONS = frozenset("CPython PyPy GraalVM IronPython".split())
COMPILERS = frozenset("g++ gcc clang icx icpx cl nvc++ GCC Clang MSC".split())
LIBRARIES = frozenset("MKL oneDNN OpenMP XNNPACK".split())
TRITON_BACKENDS = frozenset("amd nvidia intel cpu".split())

#: What torch requires, and what these require: they are in the list of extension modules that a
#: crash of Python prints.
_REQUIRED = frozenset("""
    filelock fsspec jinja2 markupsafe mpmath networkx setuptools sympy typing_extensions
    """.split())
_PACKAGES = re.compile(
    r"torch|torch-bugreport|torchvision|torchaudio|torchtext|torchdata|torchao|torchtune"
    r"|torchtitan|torchrec|torchcodec|torchmetrics"
    r"|torch-(?:xla|tensorrt|geometric|scatter|sparse|cluster|c-dlpack-ext)|functorch|fbgemm-gpu"
    r"|executorch|intel-extension-for-pytorch"
    r"|pytorch-(?:lightning|triton|triton-rocm|triton-xpu|cuda|mutex)|pytorch"
    r"|triton|triton-(?:rocm|xpu|windows)|numpy|numpy-base|mypy|mypy[-_]extensions|flake8|optree"
    r"|onnx|onnxruntime|onnxruntime-gpu|onnxscript|onnx-ir|mkl|mkl-(?:include|static|service)"
    r"|mkl_fft|mkl_random"
    r"|intel-openmp|libtorch|libblas|magma-cuda\d{2,3}|cudatoolkit|tbb|blas"
    r"|dpcpp-cpp-rt|intel-(?:cmplr-lib|cmplr-lic|opencl|sycl|openmp)-rt"
    r"|nvidia-(?:cublas|cuda-cupti|cuda-nvrtc|cuda-runtime|cudnn|cufft|cufile|curand|cusolver"
    r"|cusparse|cusparselt|nccl|nvjitlink|nvshmem|nvtx|cutlass-dsl)(?:-cu\d\d)?"
)


def is_public_package(name: str) -> bool:
    """Whether a package, by its normalized name, is one that the Versions block lists: those of
    `torch.utils.collect_env`.
    """
    return _PACKAGES.fullmatch(name) is not None


def read_public_version(version: object, *, git: object = None, package: str = "torch") -> str:
    """A release as its project numbers it, with a local part that its own wheels have.

    Args:
        version: what a package or torch says of itself.
        git: the commit that torch reports. A local part with a commit has to be the beginning of
            it.
        package: the normalized name.

    Returns:
        `2.13.0+cpu` as it is; `2.13.0+local` for another local part; `unknown` for what does not
        begin with a release.
    """
    release, _, local = str(version).partition("+")
    found = _RELEASE.match(release)
    if found is None:
        return "unknown"
    rest = release[found.end() :]
    known = found.group()
    if not local and not rest:
        return known
    return known + (f"+{local}" if not rest and _is_public_build(local, git, package) else LOCAL)


def _is_public_build(local: str, git: object, package: str) -> bool:
    if _BUILD.fullmatch(local):
        return True
    if _TRITON.fullmatch(package):
        return _TRITON_COMMIT.fullmatch(local) is not None
    commit = _COMMIT.fullmatch(local)
    return (
        commit is not None
        and read_public_commit(git) is not None
        and str(git).startswith(commit[1])
    )


def read_public_commit(git: object) -> str | None:
    """A commit of git; None for anything else."""
    return str(git) if _HASH.fullmatch(str(git)) else None


def read_public_numbers(text: object) -> str | None:
    """The release that a text begins with, as numbers: `6.4.43482` of `6.4.43482-0f2d60242`."""
    found = _NUMBERS.match(str(text)) if text is not None else None
    return found.group() if found else None


def read_public_system(text: object) -> str:
    """The distribution and its release, and major.minor.patch of the kernel."""
    name, _, kernel = str(text).partition(" (Linux ")
    numbers = re.match(r"\d{1,3}\.\d{1,3}(?:\.\d{1,5})?", kernel)
    known = _choose(name, _SYSTEM_WORDS, _NUMBERS) or "another system"
    if known.startswith("Linux") and (own := re.search(r"(\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)", name)):
        return f"Linux {own.group()}"
    return known + (f" (Linux {numbers.group()})" if numbers else "")


def read_public_processor(text: object) -> str | None:
    """A processor's model by the words that its vendor has for it; None where none is known."""
    return _choose(text, _PROCESSOR_WORDS, _PROCESSOR_NUMBER) or None


def read_public_device(text: object) -> str:
    """An accelerator's model in the same way."""
    return _choose(text, _DEVICE_WORDS, _DEVICE_NUMBER) or "another device"


def _choose(text: object, words: frozenset[str], numbers: re.Pattern[str]) -> str:
    """The words of a text that are in a list, and those that are numbers of a product, in their
    order; empty where none is in the list.
    """
    found = [word for word in str(text).split() if word in words or numbers.fullmatch(word)]
    return " ".join(found) if any(word in words for word in found) else ""


def read_public_compiler(text: object) -> str | None:
    """The family of a compiler and its release: `g++ 12.2.0`."""
    if text is None:
        return None
    found = re.match(r"(another compiler|\S+) (?:v\.)?(\d{1,5}(?:\.\d{1,5}){0,3})", str(text))
    if found is None:
        return None
    family = found[1] if found[1] in COMPILERS else "another compiler"
    return f"{family} {'v.' if family == 'MSC' else ''}{found[2]}"


_BUILDER = re.compile(
    r"\((Debian \d[\d.]*-\d+(?:\+deb\d+u\d+)?|Ubuntu \d[\d.]*-\d+ubuntu[\d.]+(?:~\d[\d.]*)?"
    r"|Red Hat \d[\d.]*-\d+(?:\.\d+)*|SUSE Linux|GCC|conda-forge gcc \d[\d.]*-\d+)\) "
)


def read_public_gcc(text: object) -> str | None:
    """As collect_env has it, `(Debian 12.2.0-14+deb12u1) 12.2.0`."""
    builder = _BUILDER.match(str(text))
    number = read_public_numbers(str(text).rpartition(") ")[2])
    return f"{builder.group() if builder else ''}{number}" if number else None


def list_public_words() -> Iterator[str]:
    """Every word of these lists, for the leak check: none of them tells anything of anybody."""
    for words in (
        _SYSTEM_WORDS,
        _PROCESSOR_WORDS,
        _DEVICE_WORDS,
        ISA_WORDS,
        VENDOR_WORDS,
        MACHINES,
        IMPLEMENTATIONS,
        COMPILERS,
        LIBRARIES,
        _REQUIRED,
    ):
        for word in words:
            yield from re.findall(r"\w+", word)
    yield from re.findall(r"[a-z]\w+", _PACKAGES.pattern)
