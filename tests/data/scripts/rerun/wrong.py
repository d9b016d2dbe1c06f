# Before each of these programs: a backend whose results are one too high, and a note of each process that runs it.
import os
import random
import sys
import time

import torch


def wrong(graph, inputs):
    return lambda *given: tuple(out + 1 for out in graph(*given))


with open("pids.txt", "a") as note:
    note.write(f"{os.getpid()}\n")


