"""Does the compiled T5 give what eager gives? Random weights, so nothing has to be downloaded."""

import torch
import torch._inductor.config as inductor_config
from transformers import T5Config, T5ForConditionalGeneration

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"

torch.manual_seed(0)
config = T5Config(
    vocab_size=128,
    d_model=64,
    d_kv=16,
    d_ff=128,
    num_layers=2,
    num_heads=4,
    feed_forward_proj="relu",
    decoder_start_token_id=0,
)
model = T5ForConditionalGeneration(config).eval()
compiled = torch.compile(model)

source = torch.randint(1, config.vocab_size, (2, 12))
target = torch.randint(1, config.vocab_size, (2, 7))
with torch.no_grad():
    logits = compiled(input_ids=source, labels=target).logits
print("logits", tuple(logits.shape))
