def a_list_that_is_appended_to(x):
    v = [x]
    v.append(x)
    if len(v) < 2:
        return v
    return torch.stack(list(v)).sum(0)


def an_inner_function_and_a_table(x):
    def own(y):
        return y

    return own(x)[0] + {"a": x}["a"]


def arithmetic_on_sizes(x):
    n = x.size(0) // 2 + x.shape[-1]
    return x.view(n)


def a_decision(x):
    return x if x is not None and not x.requires_grad else x @ -x


def a_comparison(x):
    return x < 0


def functions_of_python(x):
    return sum([abs(x), x])
