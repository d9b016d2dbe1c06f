"""The interpreter of `recorded_triton`: answers a command line from notes, or asks and notes.

Standard library only; it starts with each process of a test.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

_OF_TRITON = ("what", "target", "kernel", "texts", "launches")


def main(notes, real, asks):
    words = sys.argv[1:]
    question = _question(words)
    if question is None:  # nothing of torch
        os.execv(real, [real] + words)
    known = {}
    if os.path.exists(notes):
        with open(notes, encoding="utf-8") as source:
            known = json.load(source)
    if asks and question not in known:
        known[question] = _ask(words, real)
        with open(notes, "w", encoding="utf-8") as out:
            json.dump(known, out)
    if question not in known:
        sys.exit(f"not recorded: {question}; see tests/support/recorded_triton.py")
    answer = known[question]
    if "answer" in answer:
        with open(_spec(words)["answer"], "w", encoding="utf-8") as out:
            json.dump(answer["answer"], out)
    if "fails" in answer:  # so many times, then it ends well
        with open(answer["seen"], "a+", encoding="utf-8") as seen:
            seen.write(".")
            if seen.tell() > answer["fails"]:
                sys.exit(0)
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    sys.exit(answer["exit"])


def _question(words):
    """A name for what is asked; None for what needs no torch."""
    if words[0] == "-c":
        if "environment()" in words[1]:
            return "environment"
        return "probe" if "import torch" in words[1] else None
    if words[0].endswith("triton_main.py"):
        spec = _spec(words)
        facts = {name: spec.get(name) for name in _OF_TRITON}
        if "script" in spec:
            with open(spec["script"], encoding="utf-8") as source:
                facts["script"] = source.read()
        return f"{spec['what']} {_hash(json.dumps(facts, sort_keys=True))}"
    with open(words[0], encoding="utf-8") as source:
        return "program " + _hash(source.read())


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _spec(words):
    with open(words[1], encoding="utf-8") as source:
        return json.load(source)


def _ask(words, real):
    done = subprocess.run([real] + words, capture_output=True, text=True)
    note = {"exit": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
    if words[0].endswith("triton_main.py"):
        note["stderr"] = ""  # nobody reads it
        with open(_spec(words)["answer"], encoding="utf-8") as source:
            note["answer"] = json.load(source)
        if "internals" in note["answer"]:  # of all the words of Triton's sources, those it said
            said = set(re.findall(r"\w+", json.dumps(note["answer"]["launches"])))
            note["answer"]["internals"] = sorted(said & set(note["answer"]["internals"]))
    # the folders of the machine that was asked
    place = os.path.dirname(os.path.dirname(real))
    text = json.dumps(note).replace(place, "/opt/python")
    return json.loads(re.sub(r"/tmp/[\w./-]*?/(?=[\w]+\.py)", "/tmp/folder/", text))
