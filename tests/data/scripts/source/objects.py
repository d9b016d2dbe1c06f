import enum
from dataclasses import dataclass, field
from typing import NamedTuple
import torch

class SecretMode(enum.Enum):
    secret_fast = 1
    secret_slow = 2

class SecretFlags(enum.IntFlag):
    secret_warm = 1
    secret_hot = 2

@dataclass
class SecretSpec:
    secret_dim: int
    secret_token: str = "secret"
    def secret_half(self):
        return self.secret_dim // 2

class SecretPair(NamedTuple):
    secret_first: torch.Tensor
    secret_second: int = 1

class SecretPlain:
    def __init__(self, secret_path):
        self.secret_path = open(secret_path).read()
    @property
    def secret_size(self):
        return self.secret_scale + 1

plain = SecretPlain.__new__(SecretPlain)
plain.secret_scale = 2

def secret_entry(secret_spec, secret_pair, secret_plain, secret_flags):
    assert SecretMode.secret_fast is not SecretMode.secret_slow
    assert secret_flags & SecretFlags.secret_hot and secret_flags & SecretFlags.secret_warm
    made = SecretPair(secret_pair.secret_first + secret_plain.secret_size)
    return made.secret_first * secret_spec.secret_half() + made.secret_second

ENTRY = secret_entry
ARGS = (SecretSpec(8), SecretPair(torch.ones(2, 2)), plain, SecretFlags.secret_warm | SecretFlags.secret_hot)
