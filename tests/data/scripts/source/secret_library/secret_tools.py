SECRET_STEP = 3
def secret_scale(x):
    return x * SECRET_STEP
