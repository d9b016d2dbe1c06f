"""A few steps of masked language modelling with a compiled BERT."""

import torch
from torch._inductor import config as inductor_config
from transformers import BertConfig, BertForMaskedLM

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


def batches(count: int, vocab: int):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        ids = torch.randint(5, vocab, (4, 16), generator=generator)
        labels = ids.clone()
        masked = torch.rand(ids.shape, generator=generator) < 0.15
        labels[~masked] = -100
        ids[masked] = 4
        yield {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def main() -> None:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=128,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForMaskedLM(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    compiled = torch.compile(model)
    for step, batch in enumerate(batches(3, config.vocab_size)):
        loss = compiled(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, round(loss.item(), 4))


if __name__ == "__main__":
    main()
