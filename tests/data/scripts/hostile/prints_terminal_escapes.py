print("\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m \x9b1A \u202ethgir \x07bell\rback \x1b]52;c;aGk=\x1b\\end")
