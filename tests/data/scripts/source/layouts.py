import torch
base = torch.randn(10)
image = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
steps = torch.arange(6)

def secret_entry(secret_a, secret_b, secret_image, secret_turned, secret_wide, secret_steps):
    secret_a.add_(1)
    assert secret_image.is_contiguous(memory_format=torch.channels_last)
    return secret_b, secret_image * 2, secret_turned.stride(), secret_wide.stride(), secret_steps[secret_steps]

ENTRY = secret_entry
ARGS = (base[:6], base[2:8], image, torch.randn(3, 4).t(), torch.randn(3, 1).expand(3, 5), steps)
