"""What ends up in a tracker when processes file, race and die."""
