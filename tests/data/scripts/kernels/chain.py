@triton.jit
def kernel1(ptr1):
    value1 = tl.load(ptr1)
    value2 = value1 + value1
    value3 = value2 * 0.5
    value4 = tl.exp(value3)
    tl.store(ptr1, value4)
