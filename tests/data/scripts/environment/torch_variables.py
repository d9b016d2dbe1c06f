# Variables with private and with public values, and a C++ compiler with a name of its own.
for name in list(os.environ):
    if name.startswith(("TORCH", "PYTORCH", "OMP_", "MKL_", "KMP_", "CUDA", "CUBLAS")):
        del os.environ[name]
os.environ.update({
    "TORCH_COMPILE_JOB_ID": "falconridge_job",
    "TORCHDYNAMO_EXTRA_TAG": "falconridge",
    "TORCHINDUCTOR_CACHE_DIR": "/falconridge",
    "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_SEARCH_SPACE": "EXHAUSTIVE",
    "TORCHDYNAMO_REPRO_AFTER": "aot",
    "TORCH_LOGS": "+dynamo,recompiles,+torch._inductor.config,+falconridge.module,torch.falconridge",
    "KMP_AFFINITY": "granularity=fine,compact,1,0,falconridge",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "CUDA_VISIBLE_DEVICES": "0,1",
})
import shutil
import stat

import torch._inductor.config

folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "falconridge-%d" % os.getpid())
os.mkdir(folder)
compiler = os.path.join(folder, "falconridge-g++")
with open(compiler, "w") as file:
    file.write("#!/bin/sh\ng++ \"$@\" | sed s/^g++/falconridge-g++/\n")
os.chmod(compiler, stat.S_IRWXU)
torch._inductor.config.cpp.cxx = (None, compiler)
torch._inductor.config.max_autotune_gemm_search_space = "EXHAUSTIVE"
try:
    found = module.collect_environment()
finally:
    shutil.rmtree(folder)
print(json.dumps(found))
