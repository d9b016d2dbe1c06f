import torch
print(torch.__version__)

def f(*args):
    sym_0, sym_1 = args

    var_406 = torch.empty_strided(size=sym_0, stride=sym_1)
    # print("BREAK")
    var_314 = torch.arccos(var_406)
    return torch.special.expm1(var_314), var_406

def eager_check(var_406):
    var_314 = torch.arccos(var_406)
    return torch.special.expm1(var_314)
    

res, input = f((8,), (16,),)
print('eager: is same?', torch.allclose(res, eager_check(input), equal_nan=True))

res, input = torch.compile(f)((8,), (16,),)
print('inductor: is same?', torch.allclose(res, eager_check(input), equal_nan=True))
