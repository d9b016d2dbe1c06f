"""One module per command, named as the command is; each has a function `run_command` for typer.

`reporter.cli.main` imports the one that is asked for. A command never imports another one.
"""
