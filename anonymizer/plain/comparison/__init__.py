"""The comparison that ends a plain repro, a module for each thing that is compared.

`text` above imports it; `call` has what each of them is written with. It imports `plain.script`,
and never decides which form a repro has.
"""
