def secret_entry(x):
    return TABLE[0][0](x)


def secret_backend(gm, inputs):
    return gm.forward


ENTRY, ARGS, BACKEND = secret_entry, (torch.ones(2),), secret_backend
