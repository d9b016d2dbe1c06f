"""A backend whose results are all wrong."""


def wrong(gm, inputs):
    def run(*args):
        return tuple(out + 1 for out in gm(*args))

    return run
