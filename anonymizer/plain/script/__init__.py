"""What is known of a flat script before it is written in a plain form: its parts, the calls that
make its inputs, and the forms that it may have.

`plain` and its `comparison` import it, as does `reporter.verify`. It imports `graph` and `kinds`,
and never anything of `plain`.
"""
