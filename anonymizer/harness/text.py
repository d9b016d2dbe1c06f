"""The complete text of a harness: self-contained, seeded, ending in a plain signal.

Exit 0 means the bug is gone, 125 that this machine cannot tell (eager fails here), anything else
that it is there. Below the program and its inputs stand the functions `run`, which makes one run,
and `main`, which holds two runs against each other.
"""

from __future__ import annotations

import re

from anonymizer.graph.imports import list_imports
from anonymizer.graph.repro import REFUSED, ReproAssertion, ReproBody, indent
from anonymizer.harness.main import AS_EAGER, write_main, write_run_arguments
from anonymizer.harness.run import write_helpers, write_run

#: What makes complex numbers.
_COMPLEX = re.compile(r"complex|cfloat|cdouble|chalf|fft|stft|polar|linalg\.eig|\d[jJ]\b")


def render_harness(body: ReproBody, assertion: ReproAssertion) -> str:
    """The complete text of a harness: valid Python that black has not seen.

    Args:
        body: the program and its inputs.
        assertion: what is compared, and under which settings of torch.

    Returns:
        A script with `inputs()` and `main()`, which needs torch and the standard library alone.
    """
    body = body.with_seed(assertion.seed)
    has_complex = any(_COMPLEX.search(text) for text in (body.definitions, *body.inputs))
    run, main = write_run(body, assertion), write_main(assertion, has_complex)
    run = [*write_helpers(run), *run]
    prelude_imports, prelude = assertion.split_prelude()
    text = "\n".join([*run, *main, body.definitions, prelude, *body.inputs])
    known = {*body.imports, *prelude_imports, *assertion.write_config_imports()}
    if any("assert same(" in line for line in main):
        known.add("from torch._dynamo.utils import same")
    parameters = ", ".join(f"{name}={size}" for name, size in body.sizes)
    lines = [*list_imports(text, known), "", *assertion.write_config(), "", ""]
    if prelude:
        lines += [prelude, "", ""]
    lines += [body.definitions, "", ""]
    lines += [f"def inputs({parameters}):", *indent(body.inputs), "", ""]
    lines += [*run, "", "", *main, "", "", 'if __name__ == "__main__":', "    main()", ""]
    return "\n".join(lines)


def render_tolerance(body: ReproBody, assertion: ReproAssertion) -> str:
    """A script that fails where eager's own rounding exceeds the tolerance of `assert_close`.

    Its eager run stands against that in float64; nothing is compiled.
    """
    calls = write_run_arguments(assertion)
    main = [
        f"expected = run(lambda model: model{calls})",
        f"exact = run(lambda model: model{calls}, double=True)",
        "for e, x in zip(expected, exact):",
        "    torch.testing.assert_close(x.to(e.dtype), e, equal_nan=True)",
    ]
    whole = render_harness(body, assertion)
    return whole[: whole.index("def main():")] + "\n".join([*main, ""])


def let_through(text: str) -> str:
    """A repro of a call that eager refuses, without what keeps the compiled call's exceptions
    back: it ends with them, and as before where there is none.
    """
    for caught in (REFUSED, "\n".join(indent(AS_EAGER))):
        text = text.replace(caught, caught.replace("Exception", "StopAsyncIteration"))
    return text
