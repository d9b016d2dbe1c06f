"""Source mode: private programs rebuilt as public ones, which return what the private ones do and
say nothing of them.
"""

from __future__ import annotations

import ast
import runpy
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch._higher_order_ops.scan import scan

from anonymizer.source.dead_code import find_undefined
from anonymizer.source.rewriting import SourceError, SourceProgram, rebuild, rebuild_backend
from collectors.source import provenance
from collectors.source.source import gather
from tests.support import source_scripts
from tests.support.gathered import module_text
from tests.support.round_trips import in_a_fork
from tests.support.scripts import script, text
from tests.support.source_scripts import NAMES, looks, words


@pytest.fixture(scope="module")
def gathered() -> Mapping[str, Any]:
    """What the target side says about every script, and what the script returns."""
    return source_scripts.gathered([script(f"source/{name}") for name in NAMES])


@pytest.fixture(scope="module")
def programs(gathered: Mapping[str, Any]) -> dict[str, SourceProgram]:
    return {name: rebuild(made["gathered"], words()) for name, made in gathered.items()}


@pytest.fixture(scope="module")
def results(
    programs: dict[str, SourceProgram], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the public programs return, seen from outside, in a process that has none of the private
    ones.
    """
    folder = tmp_path_factory.mktemp("public")

    def run() -> dict[str, Any]:
        found = {}
        for name, program in programs.items():
            path = folder / f"{name}.py"
            path.write_text(module_text(program), encoding="utf-8")
            made = runpy.run_path(str(path))
            found[name] = looks(made["CALLABLE"]()(*made["inputs"]()))
        return found

    answers: dict[str, Any] = in_a_fork(run)
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_public_program_returns_what_the_private_one_does(
    name: str, gathered: Mapping[str, Any], results: dict[str, Any]
) -> None:
    assert results[name] == gathered[name]["result"]


@pytest.mark.parametrize("name", NAMES)
def test_no_canary_is_left(name: str, programs: dict[str, SourceProgram]) -> None:
    public = module_text(programs[name])
    assert "secret" in text(f"source/{name}")
    assert "secret" not in public.lower()
    assert "größe" not in public
    assert not programs[name].problems


def test_regions_stay_regions_however_they_were_marked(
    programs: dict[str, SourceProgram],
) -> None:
    public = programs["regions"].write_definitions()
    assert public.count("@torch.compiler.nested_compile_region\n") == 2
    assert "= torch.compiler.nested_compile_region(helper" in public


def test_a_function_that_hides_its_own_module_has_a_name() -> None:
    name = "torch._higher_order_ops.scan"
    assert provenance.find_public_reference(scan) == {"kind": "torch", "name": name}


def test_a_class_of_python_has_the_name_that_its_module_lists_first() -> None:
    assert weakref.ref.__name__ == "ReferenceType"
    name = {"kind": "stdlib", "name": "weakref.ref"}
    assert provenance.find_public_reference(weakref.ref) == name
    # the list of NumPy has `double` as well
    name = {"kind": "stdlib", "name": "numpy.float64"}
    assert provenance.find_public_reference(numpy.float64) == name


def test_a_private_class_named_like_a_stock_layer_gets_a_generic_name(
    programs: dict[str, SourceProgram],
) -> None:
    public = programs["stock_names"].write_definitions()
    assert "class Repro(nn.Module)" in public
    assert "class Linear" not in public
    assert (
        "self.view" not in public
    ), "an attribute of a private object is renamed although torch has the word"
    assert ".view(-1" in public, "the tensor's method of the same name stays"
    assert ".weight.sum()" in public, "the stock layer's parameter keeps its name"
    assert "self.weight" not in public


def test_only_what_is_given_a_context_calls_it_so(programs: dict[str, SourceProgram]) -> None:
    tree = programs["contexts"].definitions
    first = [
        (node.name, [each.arg for each in node.args.args][:1])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    contexts = [name for name, given in first if given == ["ctx"]]
    assert sorted(contexts) == ["backward", "backward", "forward", "setup_context"]


def test_unused_parts_of_the_private_model_are_left_out(programs: dict[str, SourceProgram]) -> None:
    public = module_text(programs["tied"])
    assert "1000" not in public
    assert "for _ in range(3)" in public
    assert "nn.Dropout(0.25)" in public
    assert programs["tied"].callable_expression == "Repro().eval()"


def test_aliases_are_kept(programs: dict[str, SourceProgram]) -> None:
    lines = "\n".join(programs["layouts"].write_inputs())
    assert lines.count("storage0") == 3
    assert "channels_last" in lines
    assert "torch.arange(6)" in lines


def test_reverse_mapping_is_complete(programs: dict[str, SourceProgram]) -> None:
    program = programs["texts"]
    assert "secret value" in program.private.mapping
    generated = {
        node.id
        for node in ast.walk(program.definitions)
        if isinstance(node, ast.Name) and node.id.startswith(("arg", "value"))
    }
    assert generated <= set(program.private.reverse)


def test_backend_stands_alone(gathered: Mapping[str, Any]) -> None:
    made = rebuild_backend(gathered["backend"]["gathered"], words())
    assert made is not None
    public = made.write_definitions()
    assert "def custom_backend(gm, example_inputs):" in public
    assert "gm.graph.nodes" in public
    assert "'call_function'" in public
    assert "secret" not in public
    assert "repro" not in public
    assert not find_undefined(made)
    assert rebuild_backend(gathered["tied"]["gathered"], words()) is None


def test_a_library_that_leads_to_all_of_itself_is_not_followed_but_the_backend_is(
    tmp_path: Path,
) -> None:
    for part in range(30):
        functions = "".join(f"def secret_{n}(x):\n    return x\n" for n in range(40))
        table = f"SECRETS = [{', '.join(f'secret_{n}' for n in range(40))}]\n"
        (tmp_path / f"secret_part{part}.py").write_text(functions + table)
    tables = ", ".join(f"secret_part{part}.SECRETS" for part in range(30))
    imports = "".join(f"import secret_part{part}\n" for part in range(30))
    entry = f"TABLE = [{tables}]\n{text('source_endless/entry')}"
    (tmp_path / "endless.py").write_text(f"import torch\n{imports}{entry}")
    gathered = source_scripts.gathered([tmp_path / "endless.py"])["endless"]["gathered"]
    assert len(gathered["functions"]) == 1
    with pytest.raises(SourceError):
        rebuild(gathered, words())
    backend = rebuild_backend(gathered, words())
    assert backend is not None and "return gm.forward" in backend.write_definitions()


def test_a_function_of_torch_is_called_by_the_name_that_people_write(
    programs: dict[str, SourceProgram],
) -> None:
    public = module_text(programs["asked_by_name"])
    assert "torch._dynamo.mark_dynamic(" in public and "decorators" not in public


class ZorbSquare(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(zorb: torch.Tensor) -> torch.Tensor:
        return zorb * zorb

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0] * grad


def test_an_own_function_alone_is_applied_and_keeps_what_torch_reads() -> None:
    made = module_text(rebuild(gather(ZorbSquare.apply, (torch.ones(2),), {}), words()))
    assert "Operation1.apply" in made and "    generate_vmap_rule = True" in made
    assert "orb" not in made.lower()
