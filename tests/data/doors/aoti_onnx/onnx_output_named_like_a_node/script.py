import torch
import onnxruntime

# Define a simple PyTorch model
class Model(torch.nn.Module):
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, input):
        return torch.flip(torch.nn.functional.softmax(input, dim=0), (1,))

# Set the output name to "softmax"
output_name = "softmax"

# Export the model to ONNX
model = Model()
torch.onnx.export(
    model,
    (torch.rand([2, 3]),),
    "test.onnx",
    output_names=[output_name],
    dynamo=True
)

# Load the exported model
session = onnxruntime.InferenceSession('test.onnx')
input = torch.rand([2, 3])
outputs = session.run([output_name], {"input": input.detach().numpy()})
torch.testing.assert_close(torch.from_numpy(outputs[0]), model(input))
