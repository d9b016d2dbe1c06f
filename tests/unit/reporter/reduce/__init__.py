"""How a program gets small, over programs that are rules."""
