import torch
from torch._inductor.async_compile import AsyncCompile

async_compile = AsyncCompile()

cpp_fused_frexp_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    auto tmp1 = at::vec::frexp(tmp0);
    auto tmp2 = tmp1 * tmp3;
}
''')

cpp_fused_mul_relu_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    auto tmp1 = tmp0 * tmp0;
}
''')

triton_poi_fused_exp_2 = async_compile.triton('triton_poi_fused_exp_2', '''
import triton

@triton.jit
def triton_poi_fused_exp_2(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')
