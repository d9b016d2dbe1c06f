import torch

SECRET_LIMIT = 2

def secret_check(secret_node):
    return secret_node.op == "call_function" and secret_node.target is torch.relu

def secret_backend(secret_module, secret_inputs):
    secret_found = [secret_node for secret_node in secret_module.graph.nodes if secret_check(secret_node)]
    assert len(secret_found) < SECRET_LIMIT, "secret limit"
    return secret_module.forward

def secret_entry():
    return torch.relu(torch.ones(2, 2))

ENTRY = secret_entry
ARGS = ()
BACKEND = secret_backend
