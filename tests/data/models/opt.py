"""Compiled OPT against eager OPT, for prompts of more than one length."""

import torch
from transformers import OPTConfig, OPTForCausalLM

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

torch.manual_seed(0)
model = OPTForCausalLM(
    OPTConfig(
        vocab_size=128,
        hidden_size=64,
        word_embed_proj_dim=64,
        ffn_dim=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        activation_function="relu",
        use_cache=False,
    )
).eval()
fast = torch.compile(model, dynamic=True)

with torch.no_grad():
    for length in (9, 14):
        prompt = torch.randint(3, 128, (2, length))
        want = model(input_ids=prompt).logits
        got = fast(input_ids=prompt).logits
        print(length, "largest difference", (want - got).abs().max().item())
