"""Transcription of noise with a compiled Whisper: only the shapes matter."""

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


def build() -> WhisperForConditionalGeneration:
    config = WhisperConfig(
        vocab_size=128,
        num_mel_bins=16,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=30,
        max_target_positions=32,
        activation_function="relu",
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    return WhisperForConditionalGeneration(config)


torch.manual_seed(0)
model = build().eval()
model.forward = torch.compile(model.forward)

features = torch.randn(2, 16, 60)
tokens = torch.randint(3, 128, (2, 8))
with torch.inference_mode():
    output = model(input_features=features, decoder_input_ids=tokens)
print("best tokens", output.logits.argmax(-1).tolist())
