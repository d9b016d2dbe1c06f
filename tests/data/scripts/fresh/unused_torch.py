# What a process would still know of work that was done in it before.
import os
import threading

import torch
import torch._dynamo.utils

print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())
print(threading.active_count())
print({name: dict(counts) for name, counts in torch._dynamo.utils.counters.items()})
print(sorted(os.listdir()), sorted(os.listdir(os.environ["TORCHINDUCTOR_CACHE_DIR"])))
