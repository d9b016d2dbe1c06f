"""When two failures count as one: rows of messages that are the same bug, and rows that are not."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from reporter.core.answer import Answer
from reporter.core.candidate import find_failure, make_matcher
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import (
    Signature,
    is_same_crash,
    is_same_failure,
    normalize,
    read_torch_frames,
    sign_assertion,
    sign_crash,
    sign_refusal,
)


def crash(
    message: str, exception: str = "RuntimeError", frames: tuple[str, ...] = ("torch/a.py:f",)
) -> Signature:
    failure = {
        "exception": exception,
        "first_line": message,
        "frames": [
            {"file": name.split(":")[0], "function": name.split(":")[1], "torch": True}
            for name in reversed(frames)
        ],
        "innermost_is_torch": True,
    }
    return sign_crash(Kind.CRASH, Layer.INDUCTOR, failure)


def fake_call(said: str) -> Signature:
    """What Dynamo raises for an operator that its fake call does not take."""
    heading = "RuntimeError when making fake tensor call"
    explanation = f"Dynamo failed to run FX node with fake tensors: call_method f(): got {said}"
    failure = {
        "exception": "TorchRuntimeError",
        "first_line": heading,
        "message": f"{heading}\n  Explanation: {explanation}\n  Hint: Look at it.\n",
        "frames": [{"file": "torch/_dynamo/exc.py", "function": "unimplemented", "torch": True}],
    }
    return sign_crash(Kind.CRASH, Layer.DYNAMO, failure)


def test_fake_calls_that_fail_for_different_reasons_are_not_the_same_crash() -> None:
    wanted = fake_call("RuntimeError('f() expects at most 3 dimensions of size 2')")
    assert is_same_crash(
        wanted, fake_call("RuntimeError('f() expects at most 3 dimensions of size 4')")
    )
    other = "ValueError('unsupported group of convolution: channels are not divisible by groups')"
    assert not is_same_crash(wanted, fake_call(other))


SAME = [
    (
        "error: 'tmp2' was not declared in this scope",
        "error: 'tmp17' was not declared in this scope",
    ),
    ("expected shape [3, 4] but got [4]", "expected shape [31, 4] but got [7]"),
    ("cannot open /home/ann/x/y.py", "cannot open /srv/z.py"),
    ("node buf12 at 0x7f00aa has no layout", "node buf3 at 0x7fbb has no layout"),
]


DIFFERENT = [
    ("error: 'compile' was not declared in this scope", "error: no match for 'operator*'"),
    (
        "derivative for aten::aminmax is not implemented",
        "Cannot set version_counter for inference tensor",
    ),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_the_same_bug_in_another_program(one: str, two: str) -> None:
    assert is_same_failure(crash(one), crash(two))


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_another_bug(one: str, two: str) -> None:
    assert not is_same_failure(
        crash(one, frames=("torch/a.py:f",)), crash(two, frames=("torch/b.py:g",))
    )


def test_a_violated_constraint_for_which_torch_knows_a_way_out_is_another_failure() -> None:
    def violated(message: str) -> Signature:
        failure = {
            "exception": "UserError",
            "first_line": "Constraints violated (batch)! For more information, run with TORCH_LOGS",
            "message": message,
            "frames": [],
            "innermost_is_torch": True,
        }
        return sign_crash(Kind.CRASH, Layer.EXPORT, failure)

    without, fixed = violated("They cannot hold."), violated("Suggested fixes:\n  batch = 4")
    assert without.message == "Constraints violated, without any fix"
    assert fixed.message == "Constraints violated, with a suggested fix"


@pytest.mark.parametrize("kind", [Kind.HANG, Kind.ACCEPTS_INVALID, Kind.ROUNDING])
def test_some_kinds_say_all_that_there_is_to_say(kind: Kind) -> None:
    assert is_same_failure(Signature(kind), Signature(kind))


def test_another_exception_class_is_another_bug() -> None:
    assert not is_same_failure(crash("x failed", "KeyError"), crash("x failed", "IndexError"))


def test_a_message_of_user_code_is_no_part_of_the_signature() -> None:
    failure = {
        "exception": "AssertionError",
        "first_line": "Acme kernel 7 missing",
        "frames": [],
        "innermost_is_torch": False,
    }
    assert sign_crash(Kind.CRASH, Layer.BACKEND, failure).message is None


def test_wrong_values_must_stand_out_from_rounding() -> None:
    wanted = Signature(Kind.WRONG_RESULT, Layer.INDUCTOR)
    clear = sign_assertion("wrong result: eager is off by 1e-07 from float64, compiled by 0.5")
    noise = sign_assertion("wrong result: eager is off by 0.01 from float64, compiled by 0.03")
    assert clear is not None and noise is not None
    assert is_same_failure(wanted, clear)
    assert not is_same_failure(wanted, noise)


def test_what_unittest_puts_before_a_message_is_none_of_it() -> None:
    text = "wrong result: eager is off by 1e-07 from float64, compiled by 0.5"
    assert sign_assertion(f"False is not true : {text}") == sign_assertion(text) is not None


def test_a_kind_never_slips_into_another() -> None:
    seen = sign_assertion("wrong gradient: eager is off by 0 from float64, compiled by 1")
    assert seen is not None and not is_same_failure(Signature(Kind.WRONG_RESULT), seen)
    metadata = sign_assertion("wrong metadata: dtype is torch.uint8 in eager, torch.bool compiled")
    assert metadata is not None and metadata.property == "dtype"
    assert not is_same_failure(Signature(Kind.WRONG_METADATA, property="shape"), metadata)


CLOSE = "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)"


@pytest.mark.parametrize(
    ("message", "wanted", "found"),
    [
        (CLOSE, None, Signature(Kind.WRONG_RESULT)),
        (CLOSE, Kind.STALE_GRAPH, Signature(Kind.STALE_GRAPH)),
        (CLOSE, Kind.WRONG_GRADIENT, Signature(Kind.WRONG_GRADIENT)),
        (CLOSE, Kind.WRONG_METADATA, Signature(Kind.WRONG_RESULT)),
        ("Tensor-likes are not equal!\n", None, Signature(Kind.WRONG_RESULT)),
        ("Scalars are not close!\n", None, Signature(Kind.WRONG_RESULT)),
        ("None mismatch: None is not tensor([0.3343])", None, Signature(Kind.WRONG_RESULT)),
        (
            "The values for attribute 'stride()' do not match: (1, 2) != (2, 1).",
            Kind.WRONG_RESULT,
            Signature(Kind.WRONG_METADATA, property="stride"),
        ),
        (
            "The length of the sequences mismatch: 1 != 2",
            None,
            Signature(Kind.WRONG_METADATA, property="structure"),
        ),
        ("Exception not raised", None, Signature(Kind.ACCEPTS_INVALID)),
        ("something is not close", None, None),
    ],
)
def test_the_comparison_of_a_plain_repro_tells_what_differs(
    message: str, wanted: Kind | None, found: Signature | None
) -> None:
    assert sign_assertion(message, Signature(wanted) if wanted else None) == found


def assertion(function: str, is_torch: bool = False) -> Answer:
    frame = {"file": "repro.py", "line": 9, "function": function, "torch": is_torch}
    failure = {"exception": "AssertionError", "message": "(1, 2)", "first_line": "(1, 2)"}
    return Answer("fails", {**failure, "frames": [frame]})  # type: ignore[arg-type,typeddict-item]


def test_a_bare_assertion_at_the_top_is_the_one_of_the_repro() -> None:
    wanted = Signature(Kind.WRONG_METADATA, property="requires_grad")
    assert make_matcher(wanted)(assertion("<module>")) and make_matcher(wanted)(
        assertion("test_wrong_metadata")
    )
    assert not make_matcher(wanted)(assertion("fn"))
    assert not make_matcher(Signature(Kind.HANG))(assertion("<module>"))
    crash = find_failure(assertion("<module>"))
    assert crash is not None and crash.kind == Kind.CRASH


def test_somebody_elses_assertion_is_not_ours() -> None:
    assert sign_assertion("incorrect out shape") is None


def test_normalizing_keeps_the_words_that_tell_bugs_apart() -> None:
    assert (
        normalize("tensor a (3) must match tensor b (4)") == "tensor a (N) must match tensor b (N)"
    )


@pytest.mark.parametrize(
    ("message", "known_by"),
    [
        ("node at 0x7fAA09 and 0x1", "node at ADDR and ADDR"),
        ("cannot open /home/ann/x/y.py: no", "cannot open PATH: no"),
        ("in (/srv/z.py), '/a/b'", "in (PATH), QUOTED"),
        ("buf12 tmp3 arg1_1 primals_2 s0 u1 x y2", "VAR VAR VAR VAR VAR VAR x VAR"),
        ("getitem_4 of mul_12", "VAR of VAR"),
        ("'a b' and \"c\" and `d` and ‘e’", "QUOTED and QUOTED and QUOTED and QUOTED"),
        ("3 of 4.5 or 1e-05", "N of N or N"),
        ("[3, 4,5] or 3x4x5", "[N] or 3x4x5"),
        ("two   words\n here ", "two words here"),
        ("int64 is a word", "int64 is a word"),
    ],
)
def test_a_message_is_known_by_what_does_not_change(message: str, known_by: str) -> None:
    assert normalize(message) == known_by


def test_a_message_is_known_by_its_first_two_hundred_characters() -> None:
    assert normalize("ab " * 100) == ("ab " * 100)[:200]
    assert len(normalize("a" * 200)) == 200


def test_what_user_code_says_counts_only_where_a_c_compiler_said_it() -> None:
    failure = {
        "exception": "CppCompileError",
        "first_line": "error: no match for 'operator*'",
        "frames": [],
        "innermost_is_torch": False,
    }
    assert sign_crash(Kind.CRASH, Layer.INDUCTOR, failure).message == "error: no match for QUOTED"
    assert (
        sign_crash(Kind.CRASH, Layer.INDUCTOR, {"exception": "E", "first_line": "x"}).message == "x"
    )
    assert sign_crash(Kind.CRASH, None, {}) == Signature(Kind.CRASH, None, "None", "")


def test_a_function_fails_in_the_place_in_which_a_module_does() -> None:
    frames = ["_dynamo/eval_frame.py:compile_wrapper", "nn/modules/module.py:_wrapped_call_impl"]
    frames += ["nn/modules/module.py:_call_impl"] * 9
    described = [
        {"file": f"torch/{place.split(':')[0]}", "function": place.split(":")[1], "torch": True}
        for place in frames
    ]
    own = {"file": "repro.py", "function": "fn", "torch": False}
    as_module, as_function = (
        sign_crash(
            Kind.CRASH,
            None,
            {"exception": "E", "innermost_is_torch": False, "frames": [*each, own]},
        )
        for each in (described, described[:1])
    )
    assert as_module.frames == ("torch/_dynamo/eval_frame.py:compile_wrapper",)
    assert is_same_failure(as_module, as_function)


def test_the_frames_of_a_failure_are_torchs_innermost_first_and_at_most_six() -> None:
    frames = [
        {"file": f"torch/{name}.py", "function": name, "torch": name != "user"}
        for name in "a b user c d e f g".split()
    ]
    named = read_torch_frames({"frames": [*frames, {"file": "x.py", "function": "f"}]})
    assert named == tuple(f"torch/{name}.py:{name}" for name in "gfedcb")
    assert read_torch_frames({}) == ()


A, B = "torch/a.py:f", "torch/b.py:g"


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        # half of all words, below the same two frames
        (("alpha beta gamma", (A, B)), ("alpha beta delta", (A, B)), True),
        (("alpha beta", (A, B)), ("alpha gamma", (A, B)), False),
        (("alpha beta gamma", (A, B)), ("alpha beta delta", (A, A)), False),
        (("alpha beta gamma", (A, B)), ("alpha beta delta", (B, B)), False),
        (("alpha beta gamma", (A, B, A)), ("alpha beta delta", (A, B, B)), True),
        (("alpha beta gamma", ()), ("alpha beta delta", ()), False),
        # words have three letters
        (("alpha to be", (A,)), ("alpha or is", (A,)), True),
        # the same message needs no frames
        (("alpha", (A,)), ("alpha", (B,)), True),
        (("alpha", ()), ("alpha", ()), True),
        # what a C++ compiler says must be the same
        (("error: alpha beta", (A,)), ("error: alpha beta gamma", (A,)), False),
        (("alpha beta error:", (A,)), ("error: alpha beta", (A,)), False),
        (("alpha error: beta", (A,)), ("alpha error: beta too", (A,)), True),
        # a message of user code is known by the innermost frame
        ((None, (A, B)), (None, (A, A)), True),
        ((None, (A, B)), (None, (B, B)), False),
        ((None, ()), (None, ()), True),
        ((None, (A,)), ("alpha", (A,)), False),
        (("alpha", (A,)), (None, (A,)), False),
    ],
)
def test_two_crashes_are_compared_by_their_words_and_their_place(
    one: tuple[str | None, tuple[str, ...]], two: tuple[str | None, tuple[str, ...]], same: bool
) -> None:
    first, second = (
        Signature(Kind.CRASH, None, "E", message, frames) for message, frames in (one, two)
    )
    assert is_same_crash(first, second) is same
    assert is_same_crash(second, first) is same
    assert is_same_failure(first, second) is same
    kinds = ("crash_on_recompile", "crash_on_recompile")
    later, last = (replace(item, kind=kind) for item, kind in zip((first, second), kinds))
    assert is_same_failure(later, last) is same
    assert not is_same_failure(first, last) and not is_same_failure(later, second)
    assert not is_same_crash(first, replace(second, exception="F"))


@pytest.mark.parametrize("kind", ["wrong_result", "wrong_gradient", "stale_graph"])
@pytest.mark.parametrize(
    ("ratio", "same"), [(None, True), (0.0, False), (7.99, False), (8.0, True), (1e9, True)]
)
def test_a_wrong_value_stands_out_from_eight_times_on(
    kind: str, ratio: float | None, same: bool
) -> None:
    assert is_same_failure(Signature(kind), Signature(kind, error_ratio=ratio)) is same
    assert (
        is_same_failure(Signature(kind, error_ratio=0.0), Signature(kind, error_ratio=ratio))
        is same
    )


@pytest.mark.parametrize(
    ("wanted", "shown", "same"),
    [
        ((), (), True),
        (("casts",), (), True),
        (("casts", "writes"), ("writes",), True),
        ((), ("casts",), False),
        (("casts",), ("casts", "writes"), False),
    ],
)
def test_a_smaller_program_does_nothing_undefined_that_the_larger_one_did_not(
    wanted: tuple[str, ...], shown: tuple[str, ...], same: bool
) -> None:
    larger = Signature(Kind.WRONG_RESULT, undefined=wanted)
    assert is_same_failure(larger, Signature(Kind.WRONG_RESULT, undefined=shown)) is same
    assert (
        is_same_failure(larger, Signature(Kind.WRONG_RESULT, undefined=shown, error_ratio=1.0))
        is False
    )


def test_a_death_is_known_by_its_signal_and_metadata_by_their_property() -> None:
    assert is_same_failure(
        Signature(Kind.PROCESS_DEATH, signal="SIGABRT"),
        Signature(Kind.PROCESS_DEATH, signal="SIGABRT"),
    )
    assert not is_same_failure(
        Signature(Kind.PROCESS_DEATH, signal="SIGABRT"),
        Signature(Kind.PROCESS_DEATH, signal="SIGSEGV"),
    )
    assert is_same_failure(
        Signature(Kind.WRONG_METADATA, property="dtype"),
        Signature(Kind.WRONG_METADATA, property="dtype"),
    )
    assert is_same_failure(Signature(Kind.HANG), Signature(Kind.HANG, message="x", error_ratio=1.0))
    assert is_same_failure(
        Signature(Kind.ACCEPTS_INVALID), Signature(Kind.ACCEPTS_INVALID, undefined=("casts",))
    )


@pytest.mark.parametrize(
    "prefix",
    ["wrong result", "wrong gradient", "wrong metadata", "accepts invalid", "stale graph"],
)
def test_the_beginning_of_a_repros_message_says_the_kind(prefix: str) -> None:
    assert sign_assertion(f"{prefix}: x") == Signature(prefix.replace(" ", "_"))
    assert sign_assertion(prefix) is None and sign_assertion(f"a {prefix}: x") is None


@pytest.mark.parametrize(
    ("rest", "named"),
    [
        *(
            (f"{name} is 1 in eager", name)
            for name in (
                "dtype shape stride requires_grad is_leaf alias device structure type".split()
            )
        ),
        ("python value is 1", "python value"),
        ("types differ", None),
        ("the dtype differs", None),
    ],
)
def test_the_property_of_metadata_is_the_first_word(rest: str, named: str | None) -> None:
    seen = sign_assertion(f"wrong metadata: {rest}")
    assert seen is not None and seen.property == named


@pytest.mark.parametrize(
    ("rest", "ratio"),
    [
        ("eager is off by 0.25 from float64, compiled by 2", 8.0),
        ("eager is off by 0.5 from float64, compiled by 1e-3", 0.002),
        ("eager is off by 0 from float64, compiled by 0.5", 5e29),
        ("eager is off by 0 from float64, compiled by 0", 0.0),
        ("eager is off by 0.5 from float64, compiled by inf", math.inf),
        ("eager is off by nan from float64, compiled by 1", None),
        ("eager is off by 1 from float64, compiled by nan", None),
        ("compiled by 1", None),
        ("output 2: eager is off by 1 from float64, compiled by 4", 4.0),
    ],
)
def test_the_ratio_of_the_errors_is_read_from_the_message(rest: str, ratio: float | None) -> None:
    seen = sign_assertion(f"wrong result: {rest}")
    assert seen is not None
    assert seen.error_ratio == (None if ratio is None else pytest.approx(ratio, rel=1e-12))


def test_a_signature_comes_back_from_its_document() -> None:
    whole = Signature(
        Kind.CRASH, Layer.INDUCTOR, "E", "m", (A, B), "dtype", "SIGABRT", 2.0, ("casts", "writes")
    )
    document = json.loads(json.dumps(whole.to_json()))
    assert document == {
        "kind": "crash",
        "layer": "inductor",
        "exception": "E",
        "message": "m",
        "frames": [A, B],
        "property": "dtype",
        "signal": "SIGABRT",
        "error_ratio": 2.0,
        "undefined": ["casts", "writes"],
        "version": 1,
    }
    assert Signature.from_json(document) == whole
    assert Signature.from_json({"kind": "hang", "frames": None}) == Signature(Kind.HANG)
    with pytest.raises(TypeError):
        Signature.from_json({"kind": "hang", "color": "red"})


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        (Signature(Kind.HANG), "hang"),
        (
            Signature(Kind.CRASH, Layer.INDUCTOR, "E", "m", property="p", signal="s"),
            "crash · inductor · E · m",
        ),
        (Signature(Kind.WRONG_METADATA, property="dtype", signal="s"), "wrong_metadata · dtype"),
        (
            Signature(Kind.PROCESS_DEATH, Layer.INDUCTOR, signal="SIGABRT"),
            "process_death · inductor · SIGABRT",
        ),
    ],
)
def test_one_line_says_what_it_is(signature: Signature, text: str) -> None:
    assert signature.describe() == text


def test_an_internal_assertion_is_torchs_own_whoever_called_the_operator() -> None:
    failure = {"exception": "RuntimeError", "frames": [], "innermost_is_torch": False}
    said = 'false INTERNAL ASSERT FAILED at "/a/b/Lapack.cpp":1613, please report a bug'
    wanted = sign_crash(Kind.CRASH, Layer.EAGER, {**failure, "first_line": said})
    other = {**failure, "first_line": "input must have at least 2 dimensions."}
    assert wanted.message is not None
    assert not is_same_crash(wanted, sign_crash(Kind.CRASH, Layer.EAGER, other))
    again = said.replace("/a/b/", "/other/").replace("1613", "1620")
    assert is_same_crash(
        wanted, sign_crash(Kind.CRASH, Layer.EAGER, {**failure, "first_line": again})
    )


def refusal(said: str, statement: str = "return torch.addmm(bias, a, b)") -> Signature:
    traceback = (
        "Traceback (most recent call last):\n"
        f'  File "program.py", line 7, in forward\n    {statement}\n'
        f"           ^^^^^^^^^^^^^^^^^^^^^\nRuntimeError: {said}\n"
    )
    failure = {"exception": "RuntimeError", "first_line": said, "traceback": traceback}
    return sign_refusal(Layer.INDUCTOR, failure)


EXPANDED = "The expanded size of the tensor (1) must match the existing size (64) at dimension 0."


@pytest.mark.parametrize(
    ("said", "is_same"),
    [
        (EXPANDED.replace("64", "2"), True),
        (EXPANDED + "  Target sizes: [1, 1].", True),
        ("mat1 and mat2 shapes cannot be multiplied (2x1 and 2x1)", False),
        ("expected m1 and m2 to have the same dtype, but got: float != c10::Half", False),
    ],
)
def test_what_eager_refuses_is_the_same_in_the_smaller_program(said: str, is_same: bool) -> None:
    prefix = "accepts invalid: the compiled call returns where eager raises "
    seen = sign_assertion(prefix + said)
    assert seen is not None and seen.kind == Kind.ACCEPTS_INVALID
    assert is_same_failure(refusal(EXPANDED), seen) is is_same


def test_words_of_the_program_are_no_part_of_what_eager_refuses() -> None:
    own = refusal("secret refused", 'raise RuntimeError("secret refused")')
    assert own.message is None and own.exception == "RuntimeError"
    seen = sign_assertion("accepts invalid: the compiled call returns where eager raises text1")
    assert seen is not None and is_same_failure(own, seen)
    # neither a plain program nor one of an earlier version says what eager mode said
    for message in ("Exception not raised", "accepts invalid: eager raises"):
        silent = sign_assertion(message)
        assert silent is not None and is_same_failure(refusal(EXPANDED), silent)
