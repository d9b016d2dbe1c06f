"""Every message between the host (`reporter`) and the target (`collectors`), key by key.

Both sides import these types, so a misspelled key is an error of mypy on either of them. Messages
are JSON objects: lines on a Unix socket or a pipe, or the whole of a file. Times are wall seconds,
paths are absolute, errors are absolute unless they say otherwise. A key of a class with
`total=False` may be missing; a message of a newer version may have more keys.

The modules in the order of the work, each of which may be imported by its name alone:

- `words`: what several stages share; `repro_words`: those that repros and issues are written with,
  too
- `failure`: an exception
- `starting`, `events`: a program is started and watched
- `variation`, `comparison`: how a call or a candidate is varied, and what two runs have left
- `calls`, `graphs`, `compilation`, `evidence`, `environment`: questions about a recorded call;
  `call_requests` has the union of all
- `candidates`: warm workers and fresh processes
- `kernels`: Triton

`captured_values`, `captured_graph`, `captured_trace` and `program_source` are what is captured of a
call, and gathered of the program around it: data that the anonymizer reads, too. With the
operations goes the one rule by which both sides tell those that write (`is_write`).

The files that torch saves (`*.pt`) are written and read by the target alone. It needs
the standard library only, and never imports what the host would have to wait for.
"""
