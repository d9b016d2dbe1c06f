"""The program's own source rewritten: private classes, functions and values become public ones,
statement by statement.

Rooms above and `reporter` may import it; a program is made in `rewriting`, a Triton kernel in
`triton_kernel`. What has no public equivalent is never copied; the rewriting ends instead.
"""
