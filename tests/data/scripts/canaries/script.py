import os
import platform
import sys
import torch
from canary_module import canary_helper_class

assert os.environ["canary_environment_name"] == "canary_environment_value"
SOURCE = """
class canary_exec_class(canary_helper_class):
    def __init__(self):
        super().__init__()
        self.canary_exec_attribute = "canary_string"
    def forward(self, x):
        return super().forward(x)
"""
# words of the report's own, which a program may have as well: machine, os, stages
if platform.machine() not in ("x86_64", "aarch64"):
    raise SystemExit("can't diagnose, verify or record on Debian GNU/Linux 12 (bookworm)")
names = {"canary_helper_class": canary_helper_class}
exec(SOURCE, names)
import torch._dynamo.config
torch._dynamo.config.debug_dir_root = "canary_setting"
torch.manual_seed(0)
model = MADE()
print("canary_printed starts")
with open("canary_host_file.txt", "w") as file:
    file.write("canary_host_file")
x = torch.randn(2, 3)
expected = model(x)
try:
    found = torch.compile(model)(x)
except Exception as error:
    print("canary_printed", error)
    raise
print("canary_printed", found.shape == expected.shape and (found.float() - expected.float()).abs().max())
