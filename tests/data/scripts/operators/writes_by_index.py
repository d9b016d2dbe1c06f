def repro(x, y, n):
    x += 1
    x[y] = 0
    x[:n] = 0
    return x
