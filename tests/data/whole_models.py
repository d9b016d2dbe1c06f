"""Models of a third party with small random configurations, rewritten as a whole; one JSON line each. Runs where they are installed.

    python whole_models.py CHECKOUT
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402
import transformers as hf  # noqa: E402

from tests.support.round_trips import rewriting  # noqa: E402

IDS = torch.randint(5, 90, (2, 11))
TEXT = {"vocab_size": 100, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}


def whisper(layers):
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = hf.WhisperConfig(
        d_model=32,
        encoder_layers=layers,
        encoder_attention_heads=4,
        encoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=20,
    )
    return WhisperEncoder(config), (torch.randn(2, 16, 40),), {}


def t5(layers):
    config = hf.T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=layers, num_heads=4)
    given = {"input_ids": IDS, "decoder_input_ids": IDS, "use_cache": False}
    return hf.T5ForConditionalGeneration(config), (), given


def opt(layers):
    config = hf.OPTConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=layers,
        ffn_dim=64,
        num_attention_heads=4,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
    )
    return hf.OPTForCausalLM(config), (IDS,), {"use_cache": False}


def gpt2(layers):
    config = hf.GPT2Config(vocab_size=100, n_embd=32, n_layer=layers, n_head=4, n_positions=64)
    return hf.GPT2LMHeadModel(config), (IDS,), {}


def vit(layers):
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    config = hf.ViTConfig(**sizes, num_hidden_layers=layers, image_size=32, patch_size=8)
    return hf.ViTModel(config), (torch.randn(2, 3, 32, 32),), {}


def llama(layers):
    config = hf.LlamaConfig(**TEXT, num_hidden_layers=layers, num_key_value_heads=2)
    return hf.LlamaForCausalLM(config), (IDS,), {"use_cache": False}


def bert(layers):
    return hf.BertModel(hf.BertConfig(**TEXT, num_hidden_layers=layers)), (IDS,), {}


def mamba(layers):
    config = hf.MambaConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=layers, state_size=8
    )
    return hf.MambaForCausalLM(config), (IDS,), {"use_cache": False}


def main():
    for make in (t5, opt, gpt2, bert, whisper, vit, llama, mamba):
        for training in (False, True):
            found = rewriting(lambda: make(3), training)
            longer = rewriting(lambda: make(5), training).text
            row = {
                "name": make.__name__ + ("_training" if training else ""),
                "text": found.text,
                "longer": longer,
                "reasons": found.trace["reasons"],
                "same": found.same,
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
