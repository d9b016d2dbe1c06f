"""Which calls of a compiled callable need a look."""

from __future__ import annotations

from collectors.record.watched_callable import CallShapes, WatchedCallable, build_signature


def describe(*args: object) -> CallShapes:
    values, kinds = (repr(build_signature(args, has_values)) for has_values in (True, False))
    return CallShapes(values, kinds)


def test_many_calls_that_differ_in_numbers_or_texts_alone_are_not_new_for_ever() -> None:
    watched = WatchedCallable(None, {})
    looked_at = 0
    for step in range(1000):
        shapes = describe({"step": step, "rate": 1 / (step + 1)}, [f"step {step}"])
        if watched.is_new(shapes):
            looked_at += 1
            watched.remember(shapes)
    assert looked_at == 32
    assert watched.is_new(describe({"step": 1, "rate": True}, ["step 1"]))
    assert watched.is_new(describe({"step": 1, "rate": 0.5}, ["step 1"], None))


def test_a_number_is_new_once() -> None:
    watched = WatchedCallable(None, {})
    watched.remember(describe(2))
    assert not watched.is_new(describe(2)) and watched.is_new(describe(3))
