import torch
import onnxruntime


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(15, 96)
        enc_layer = torch.nn.TransformerEncoderLayer(96, nhead=12, dim_feedforward=96, dropout=0.2, batch_first=True)
        self.attn_layers = torch.nn.TransformerEncoder(enc_layer, num_layers=2, enable_nested_tensor=True)

    def forward(self, x):
        x = self.emb(x)
        return self.attn_layers(x)


model = Model()
sample_input = torch.tensor([[1, 2, 3]])
torch.onnx.export(model, (sample_input,), "model.onnx", dynamo=True, input_names=["x"])
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
output = session.run(None, {"x": sample_input.numpy()})
torch.testing.assert_close(torch.tensor(output[0]), model(sample_input))
