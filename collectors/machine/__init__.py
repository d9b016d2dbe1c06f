"""Facts about the interpreter and the machine: environment, packages, devices, settings, torch's
public names.

Every room of the collectors may import all of it. It never looks at a call.
"""
