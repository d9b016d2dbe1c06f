@triton.jit
def helper1(value1):
    return value1 + 1


@triton.jit
def kernel1(ptr1, arg1, SIZE1: tl.constexpr):
    value2 = tl.arange(0, SIZE1)
    value3 = helper1(value2)
    for value4 in range(3):
        value3 += arg1
    tl.store(ptr1 + value2, value3)
