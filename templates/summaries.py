"""A verdict in one sentence that says nothing measured on the private program."""

from __future__ import annotations

from anonymizer.kinds import Kind

#: The verdict in one sentence that says nothing measured on the private program.
SUMMARIES = {
    Kind.CRASH: "Compiling raises {exception}; eager runs.",
    Kind.CRASH_ON_RECOMPILE: (
        "Compiling again for another shape or value raises {exception}; eager runs."
    ),
    Kind.WRONG_RESULT: "The compiled call returns wrong values without an error.",
    Kind.WRONG_GRADIENT: "The compiled backward pass returns wrong gradients.",
    Kind.WRONG_METADATA: "The compiled result has another {property} than eager's.",
    Kind.ACCEPTS_INVALID: (
        "Eager refuses the call with {exception}; the compiled call returns a result."
    ),
    Kind.PROCESS_DEATH: "The compiled call ends the process with {signal}.",
    Kind.HANG: "The compiled call does not end.",
    Kind.STALE_GRAPH: (
        "A compiled graph that is reused for other inputs returns wrong values; compiled afresh it"
        " is right."
    ),
}
#: The same of derivatives in forward mode.
TANGENT_SUMMARY = "The compiled call returns wrong derivatives in forward mode, or loses them."
#: The same of a crash that is no compile's.
RUNNING_SUMMARY = "The compiled code, while it runs, raises {exception}; eager runs."
#: The same of an exported program that could be made.
EXPORTED_CALL_SUMMARY = "The exported program raises {exception}; the module itself runs."
#: The same of what torch refuses, with the first line of its message.
STATED_LIMIT = "Torch says that it does not support this: {}."
#: The same of an exported program, where it is another sentence.
EXPORT_SUMMARIES = {
    Kind.CRASH: "Exporting raises {exception}; eager runs.",
    Kind.WRONG_RESULT: "The exported program returns wrong values without an error.",
    Kind.WRONG_METADATA: "The result of the exported program has another {property} than eager's.",
    Kind.ACCEPTS_INVALID: (
        "Eager refuses the call with {exception}; the exported program returns a result."
    ),
    Kind.PROCESS_DEATH: "The exported program ends the process with {signal}.",
    Kind.HANG: "Exporting the program, or calling what was exported, does not end.",
}
AOTI_SUMMARIES = {**EXPORT_SUMMARIES, Kind.CRASH: "AOTInductor raises {exception}; eager runs."}
#: The same where no compiler is needed.
EAGER_SUMMARIES = {
    Kind.CRASH: "An operator raises {exception} in eager mode, which torch itself asks to report.",
    Kind.PROCESS_DEATH: "An operator ends the process with {signal} in eager mode.",
    Kind.WRONG_RESULT: "An operator returns wrong values in eager mode, without an error.",
    Kind.WRONG_GRADIENT: "A derivative of an operator is not that of its values in eager mode.",
}
#: The same of a stale graph that came out of the compiler's cache.
CACHE_SUMMARY = (
    "The compiler's cache gives code that was compiled for other inputs, which returns wrong"
    " values; with the caches off it is right."
)
#: Of wrong metadata that is no output's, in the place of the row for its kind.
EFFECT_SUMMARY = "The compiled call does not leave Python's state as eager does."
#: All of these, which stand in a repro whatever the program.
ALL_SUMMARIES = (
    RUNNING_SUMMARY,
    EXPORTED_CALL_SUMMARY,
    STATED_LIMIT,
    CACHE_SUMMARY,
    EFFECT_SUMMARY,
    TANGENT_SUMMARY,
    *SUMMARIES.values(),
    *EXPORT_SUMMARIES.values(),
    *AOTI_SUMMARIES.values(),
    *EAGER_SUMMARIES.values(),
)
