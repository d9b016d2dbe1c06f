import torch

SECRET_CONFIG = {"secret_width": 4, "mode_secret": "secret value", "nested": {"secret_deep": 2}}

class SecretHolder:
    pass

def secret_entry(x, secret_kind="secret-kind", *, secret_flag=False):
    holder = SecretHolder()
    setattr(holder, "secret_field", SECRET_CONFIG["secret_width"])
    message = f"secret {holder.secret_field} text"
    assert message and secret_kind == "secret-kind", "secret assertion"
    out = torch.div(x, getattr(holder, "secret_field"), rounding_mode="floor")
    out = torch.einsum("secrt,r->sect", x.expand(1, 1, 1, 3, 2), x[:, 0])
    return out if secret_flag else -out

ENTRY = secret_entry
ARGS = (torch.randn(3, 2),)
KWARGS = {"secret_flag": True}
