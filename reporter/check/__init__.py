"""Does it still fail, and where: environments of other releases, checks in them, bisection, and engines for thousands."""
