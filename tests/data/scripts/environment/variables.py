os.environ.update({
    "OMP_NUM_THREADS": "3",
    "OMP_PLACES": "cores",
    "TORCH_COMPILE_DEBUG": "/data/secret/x",
    "MY_API_TOKEN": "abc",
    "CXX": "/opt/secret-toolchain/bin/g++",
})
print(json.dumps(module.collect_environment()))
