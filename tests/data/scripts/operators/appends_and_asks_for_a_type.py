def repro(x):
    y = [x]
    y.append(x)
    return type(x) is int, sum(y)
