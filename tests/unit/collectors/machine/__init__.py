"""Facts about the machine, read from folders that look like the system's."""
