"""One file per command; a command parses, wires and prints, and leaves every decision to `reporter`."""
