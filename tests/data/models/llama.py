"""Next-token loss of a small compiled Llama and its gradients, next to those of eager."""

import copy

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    hidden_act="relu",
    use_cache=False,
)
eager = LlamaForCausalLM(config).eval()
compiled = torch.compile(copy.deepcopy(eager), mode="max-autotune-no-cudagraphs")

ids = torch.randint(0, config.vocab_size, (2, 16))
with torch.no_grad():
    expected = eager(input_ids=ids, labels=ids).loss
    loss = compiled(input_ids=ids, labels=ids).loss
print("eager", expected.item(), "compiled", loss.item())
