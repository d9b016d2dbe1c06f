import torch
import sys
torch._dynamo.config.capture_scalar_outputs = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True
torch._inductor.config.emulate_precision_casts = True

def foo(arg0, sentinel):
    t0 = arg0 # size=(714, 33), stride=(33, 1), dtype=float16, device=cuda
    t1 = t0.clone(); t1.zero_() # size=(714, 33), stride=(33, 1), dtype=float16, device=cuda
    t2 = t1.contiguous().view((34, 9, 77)) # size=(34, 9, 77), stride=(693, 77, 1), dtype=float16, device=cuda
    t3 = t2.clone(); t3.zero_() # size=(34, 9, 77), stride=(693, 77, 1), dtype=float16, device=cuda
    output = t3 + sentinel  # output tensor with sentinel for gradient flow
    return output

arg0 = torch.rand([714, 33], dtype=torch.float16, device='cpu', requires_grad=True) # size=(714, 33), stride=(33, 1), dtype=float16, device=cuda
sentinel = torch.tensor(0.0, dtype=torch.float16, device='cpu', requires_grad=True) # Sentinel for gradient flow
if __name__ == '__main__':
    out_eager = foo(arg0, sentinel)
    out_eager.sum().backward()
    print('Eager Success! ✅')
    compiled_foo = torch.compile(foo, fullgraph=True, dynamic=True)
    out_compiled = compiled_foo(arg0, sentinel)
    out_compiled.sum().backward()
    print('Compile Success! ✅')
