"""One module per command: it parses, wires and prints, and leaves every decision to the rooms
below.

Nothing imports it but the program's entry point. It never imports what a command does not need
before it runs.
"""
