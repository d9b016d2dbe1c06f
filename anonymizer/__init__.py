"""Private programs rewritten into public ones, and the leak check; pure functions of plain data,
without torch.

`reporter` imports it. It imports neither `reporter` nor the collectors but for the types of what
they capture and gather, and never guesses what may leave: everything is rebuilt from an allow-list.
"""
