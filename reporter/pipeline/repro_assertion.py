"""The assertion that a verdict asks for: the same kind of failure, under the settings of the
recorded call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from anonymizer.graph.repro import ReproAssertion
from collectors.protocol.comparison import TensorRole
from collectors.protocol.environment import EnvironmentFacts
from collectors.protocol.events import CompileOptions, ContextState
from collectors.protocol.repro_words import CACHED, Property
from collectors.protocol.starting import DerivativeKind
from reporter.core.kinds import (
    INDUCTOR_LAYERS,
    WRONG_AT_ONCE,
    Backend,
    Compiler,
    Differentiation,
    Kind,
    Layer,
    RungOutcome,
)
from reporter.diagnose.comparisons import is_of_tangents
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.rungs import (
    CASTS_SETTING,
    EAGER,
    EMULATED_CASTS,
    EXACT,
    NON_STRICT,
    RANDOM_SETTING,
    STRICT,
)

#: Root mean square of values that the absolute tolerance of torch's own comparison
#: (`collectors.call.tolerance`) would let pass whatever they are.
_SMALL = 1e-4
_KEPT_ARGUMENTS = ("mode", "dynamic", "fullgraph", "options")


def build_assertion(
    diagnosis: Diagnosis,
    environment: EnvironmentFacts | None,
    words: Collection[str] = (),
    seed: int = 0,
) -> ReproAssertion:
    """The assertion of a diagnosis: same kind, and the settings that the recorded call ran under.

    Args:
        diagnosis: a verdict on a finding, with its ladder.
        environment: the facts of the machine, for the settings of torch that were changed; None:
            none were.
        words: those of torch's own interface, the only texts that arguments keep.
        seed: the one that a repro starts from.
    """
    finding, ladder = diagnosis.basis.finding, diagnosis.basis.ladder
    assert finding is not None and ladder is not None
    changed = diagnosis.comparison["values"] if diagnosis.comparison else []
    compared = diagnosis.signature.property if diagnosis.signature else None
    refused = ladder[EAGER].outcome == RungOutcome.RAISES
    return ReproAssertion(
        kind=diagnosis.kind,
        compiler=finding.original.compiler,
        steps=tuple(finding.original.options.get("steps") or ()),
        arguments=_write_arguments(diagnosis, words),
        config=_write_config(diagnosis, environment),
        contexts=tuple(list_contexts(finding.original.context)),
        backward=_choose_backward(diagnosis),
        property=Property(compared) if compared else None,
        double=compared is None and (ladder[EXACT].ran or diagnosis.kind == Kind.WRONG_GRADIENT),
        compare_inputs=any(
            item["property"] == TensorRole.CHANGED_INPUT and not item["same"] for item in changed
        ),
        by_size=any(0.0 < item.get("scale", 1.0) < _SMALL and not item["same"] for item in changed),
        eager_raises=refused and diagnosis.kind == Kind.PROCESS_DEATH,
        prelude=write_settings(finding.original.context, environment),
        seed=seed,
    )


def _choose_backward(diagnosis: Diagnosis) -> Differentiation:
    """How gradients are asked for."""
    finding = diagnosis.basis.finding
    assert finding is not None
    derivative: DerivativeKind | None = finding.original.options.get("derivative")
    if derivative is not None:
        is_computed = derivative == "backward"
        return Differentiation.SUM if is_computed else Differentiation(derivative)
    if diagnosis.kind == Kind.WRONG_GRADIENT and is_of_tangents(diagnosis.comparison):
        return Differentiation.TANGENTS
    ladder = diagnosis.basis.ladder
    if diagnosis.kind == Kind.CRASH and ladder is not None and ladder.facts.get("dual"):
        return Differentiation.TANGENTS
    return Differentiation.RANDN if finding.grads else Differentiation.NONE


def _write_arguments(diagnosis: Diagnosis, words: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The arguments of what makes the callable, as text."""
    assert diagnosis.basis.finding is not None
    options = diagnosis.basis.finding.original.options
    if diagnosis.basis.finding.original.compiler == Compiler.COMPILE:
        return write_compile_arguments(options)
    if diagnosis.basis.finding.original.compiler == Compiler.ONNX:
        return write_onnx_arguments(options, words)
    return _write_strictness(diagnosis)


def _write_config(
    diagnosis: Diagnosis, environment: EnvironmentFacts | None
) -> tuple[tuple[str, str], ...]:
    """The settings that the call ran under, and those under which the failure was seen."""
    ladder = diagnosis.basis.ladder
    assert ladder is not None
    lines = (
        write_config_lines(environment["configs"], environment["choices"]) if environment else ()
    )
    config = dict(lines)
    draws = bool(ladder.facts.get("random")) and diagnosis.kind in WRONG_AT_ONCE
    if draws and diagnosis.layer in INDUCTOR_LAYERS | {Layer.AOTI}:
        config[RANDOM_SETTING] = "True"
    if diagnosis.is_from_cache:
        config.update([CACHED])
    if ladder[EMULATED_CASTS].outcome == RungOutcome.DIFFERS:
        config[CASTS_SETTING] = "True"
    return tuple(config.items())


def list_contexts(context: ContextState) -> Iterator[str]:
    """The contexts that the call was made in, as expressions; of a device the kind alone."""
    if context["inference"]:
        yield "torch.inference_mode()"
    elif not context["grad"]:
        yield "torch.no_grad()"
    for kind, (enabled, dtype) in context["autocast"].items():
        if enabled:
            yield f'torch.autocast("{kind}", dtype={dtype})'
    device = context.get("default_device")
    if device:
        yield f'torch.device("{device.partition(":")[0]}")'


def write_settings(context: ContextState, environment: EnvironmentFacts | None) -> str:
    """Global switches that were not at their default, as statements."""
    lines = []
    if context["default_dtype"] != "torch.float32":
        lines.append(f"torch.set_default_dtype({context['default_dtype']})")
    if context["deterministic"]:
        lines.append("torch.use_deterministic_algorithms(True)")
    cores = environment["cores"] if environment else None
    if context["threads"] == 1 and cores and cores > 1:
        lines.append("torch.set_num_threads(1)")
    if context["matmul_precision"] != "highest":
        lines.append(f'torch.set_float32_matmul_precision("{context["matmul_precision"]}")')
    return "\n".join(lines)


def write_config_lines(
    configs: Mapping[str, Any], choices: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Non-default torch configuration as assignments; only plain values, and strings that torch
    offers (`choices`).
    """
    kept = []
    for name, value in configs.items():
        plain = isinstance(value, (bool, int, float)) or value is None or name in choices
        if (
            plain
            and name.startswith("torch.")
            and ".config." in name
            and name.rsplit(".", 1)[-1] != "compile_threads"
        ):
            kept.append((name, repr(value)))
    return tuple(kept)


def write_compile_arguments(options: CompileOptions) -> tuple[tuple[str, str], ...]:
    """The torch.compile keyword arguments as text; options are torch's own names and plain
    values.
    """
    found = []
    backend = options.get("backend", Backend.INDUCTOR.value)
    if isinstance(backend, str) and backend != Backend.INDUCTOR:
        found.append(("backend", repr(backend)))
    for name in _KEPT_ARGUMENTS:
        value = options.get(name)
        if value is None or value is False and name == "fullgraph" or value == "default":
            continue
        if isinstance(value, dict) and not all(
            isinstance(v, (bool, int, float, str)) for v in value.values()
        ):
            continue
        found.append((name, repr(value)))
    return tuple(found)


def write_onnx_arguments(
    options: CompileOptions, words: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """The arguments of torch.onnx.export as text; of names those that are words of torch stay,
    since nodes may have them too.
    """
    found = []
    for argument in ("input_names", "output_names"):
        names = list(options.get(argument) or ())
        if any(name in words for name in names):
            public = [name if name in words else f"name{at}" for at, name in enumerate(names)]
            found.append((argument, repr(public)))
    for argument, default in (("opset_version", None), ("optimize", True)):
        value = options.get(argument, default)
        if isinstance(value, (bool, int)) and value != default:
            found.append((argument, repr(value)))
    return tuple(found)


def _write_strictness(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    """The `strict` of torch.export.export, where the failure is there in that mode alone."""
    assert diagnosis.basis.ladder is not None and diagnosis.basis.finding is not None
    modes = {True: diagnosis.basis.ladder[STRICT], False: diagnosis.basis.ladder[NON_STRICT]}
    own = diagnosis.basis.finding.original.options.get("strict")
    if own is None or modes[not own].outcome == modes[bool(own)].outcome:
        return ()
    return (("strict", repr(bool(own))),)
