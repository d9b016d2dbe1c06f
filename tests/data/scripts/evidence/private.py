import torch


class SecretLedger(torch.nn.Module):
    def forward(self, secret_rows):
        total = secret_rows.sum()
        if total > 0:
            return helper_of_acme(secret_rows)
        return secret_rows


def helper_of_acme(secret_rows):
    return secret_rows.sigmoid()


def broken(gm, inputs):
    def run(*args):
        return [out + 0.5 for out in gm.forward(*args)]

    return run


model = torch.compile(SecretLedger(), backend=broken)
model(torch.ones(3))
