"""A stock layer is made again with all that its constructor was given, in both ways of rewriting."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from collectors.dynamo.stock_layers import read_constructor
from collectors.machine.public_names import NotInGraphError
from collectors.source.stock_layers import find_stock_arguments

gelu = nn.functional.gelu
LAYERS: list[nn.Module] = [
    nn.AdaptiveAvgPool2d((1, 1)), nn.AdaptiveMaxPool1d(3, return_indices=True),
    nn.AvgPool2d((2, 2)), nn.AvgPool2d(3, 2, 1, True, False, 3), nn.BatchNorm1d(4, 0.1, 0.3),
    nn.BatchNorm2d(4, affine=False, track_running_stats=False), nn.BatchNorm1d(4, momentum=None),
    nn.Conv2d(4, 4, 3, 2, 1, 2, 2, False, "circular"), nn.Conv1d(4, 4, 3, padding="same"),
    nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, 2, False, 2), nn.CosineSimilarity(0, 0.1),
    nn.CTCLoss(2, "sum", True), nn.ELU(0.4), nn.Embedding(10, 4, 2, 1.0, 1.0, True, True),
    nn.EmbeddingBag(10, 4, 1.0, mode="sum", include_last_offset=True, padding_idx=1),
    nn.Fold((4, 5), (2, 2), 2, 1, 2), nn.FractionalMaxPool2d(2, output_ratio=0.5),
    nn.GELU("tanh"), nn.GroupNorm(2, 4, 0.1, False), nn.GRU(4, 6, 2, bidirectional=True),
    nn.Hardtanh(-2, 3), nn.HuberLoss(delta=0.3), nn.InstanceNorm1d(4, 0.2, 0.4, True, True),
    nn.KLDivLoss(reduction="batchmean", log_target=True), nn.LayerNorm((4, 5), 0.1, False),
    nn.LeakyReLU(0.3, True), nn.Linear(3, 4, bias=False), nn.LocalResponseNorm(2, 0.1, 0.5, 2.0),
    nn.LPPool2d(2, (3, 3), 2, True), nn.LSTM(4, 6, 2, False, True, 0.2, True, 3),
    nn.LSTMCell(3, 4, bias=False), nn.MaxPool2d((2, 2)), nn.MaxPool2d(3, 1, 1, 2, True, True),
    nn.MultiheadAttention(8, 2, 0.2, False, True, True, 4, 6, True), nn.MultiheadAttention(8, 2),
    nn.PairwiseDistance(1.0, 0.1, True), nn.PReLU(3), nn.ReflectionPad2d((1, 2, 3, 4)),
    nn.RMSNorm(4, 0.1, False), nn.RNN(4, 6, nonlinearity="relu"),
    nn.RNN(4, 6, 2, nonlinearity="relu", batch_first=True), nn.RNNCell(3, 4, False, "relu"),
    nn.Softplus(2.0, 10.0), nn.Threshold(0.1, 20.0),
    nn.TransformerDecoderLayer(16, 2, 32, 0.3, gelu, 0.5, True, True, False),
    nn.TransformerEncoderLayer(16, 2, 32, layer_norm_eps=0.5),
    nn.TransformerEncoderLayer(16, 2, 32, 0.3, "gelu", 0.5, True, True, False),
    nn.TripletMarginLoss(2.0, 3.0, 0.1, True), nn.Unfold((2, 2), 2, 1, 2),
    nn.Upsample(scale_factor=2.5, mode="bicubic", align_corners=True, recompute_scale_factor=True),
]  # fmt: skip


def describe(layer: nn.Module) -> dict[str, object]:
    """What a layer and those in it keep, but for tensors; a size is one number or several."""
    kept: dict[str, object] = {}
    for path, part in layer.named_modules():
        for name, value in vars(part).items():
            if not name.startswith("_") and not isinstance(value, torch.Tensor):
                sizes = set(value) if isinstance(value, (tuple, list)) else {value}
                kept[f"{path}.{name}"] = sizes.pop() if len(sizes) == 1 else list(value)
    return kept


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_a_layer_is_made_again(layer: Any) -> None:
    arguments = find_stock_arguments(layer)
    assert arguments is not None
    read = read_constructor(layer)
    assert read["class"] == type(layer).__name__
    for given in (arguments, read["kwargs"]):
        made = type(layer)(**given)
        assert describe(made) == describe(layer)
    assert repr(type(layer)(**arguments)) == repr(layer)


def test_a_transformers_activation_is_the_layer_that_was_given() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, activation=nn.SiLU())
    arguments = find_stock_arguments(layer)
    assert arguments is not None and arguments["activation"] is layer.activation
    with pytest.raises(NotInGraphError):  # a graph has the names of functions alone
        read_constructor(layer)
    layer.activation = nn.GELU()
    assert read_constructor(layer)["kwargs"]["activation"] == "gelu"
    layer.activation = nn.GELU("tanh")
    with pytest.raises(NotInGraphError):
        read_constructor(layer)


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss, nn.NLLLoss, nn.BCEWithLogitsLoss])
def test_a_loss_is_made_again_with_its_weights(loss: Any) -> None:
    layer = loss(weight=torch.tensor([0.5, 2.0]), reduction="sum")
    arguments = find_stock_arguments(layer)
    assert arguments == {"weight": layer.weight, "reduction": "sum"}


def test_a_layer_with_a_part_in_the_place_of_another_is_none_of_its_class() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32)
    layer.norm2 = nn.LayerNorm(16, eps=0.5)
    assert find_stock_arguments(layer) is None
