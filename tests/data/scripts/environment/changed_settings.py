import torch._dynamo
import torch._functorch.config
import torch._inductor.config

before = module.collect_environment()
torch._inductor.config.fallback_random = True
torch._inductor.config.triton.cudagraphs = not torch._inductor.config.triton.cudagraphs
torch._dynamo.config.debug_dir_root = "/home/somebody/secret"
env, cost = measured(module.collect_environment)
words, cost_of_words = measured(importlib.import_module("_probe.machine.vocabulary").collect_vocabulary)
print(json.dumps({
    "before": before["configs"], "env": env, "cost": cost, "words": words,
    "cost_of_words": cost_of_words, "internals": len(importlib.import_module("_probe.machine.internal_names").collect_internal_names()),
}))
