import collections

import torch


class SecretGauge:
    def __init__(self):
        self.secret_level = 0

    @property
    def secret_shown(self):
        return self.secret_level + 1

    @secret_shown.setter
    def secret_shown(self, secret_value):
        self.secret_level = secret_value


def secret_entry(x, secret_gauge, secret_recent, secret_groups, secret_bytes):
    secret_gauge.secret_shown = 4
    secret_recent.append(x)
    secret_groups["secret_new"].append(1)
    secret_bytes += b"secret"
    return x * len(secret_recent) + secret_gauge.secret_shown + len(secret_groups["secret_new"])


ENTRY = secret_entry
ARGS = (
    torch.ones(2),
    SecretGauge(),
    collections.deque([torch.zeros(2)], maxlen=1),
    collections.defaultdict(list),
    bytearray(b"secret"),
)
