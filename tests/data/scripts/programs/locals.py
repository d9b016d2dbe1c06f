def given_by_a_try_that_reads_it(x):
    try:
        v = F.nope(v)
    except AttributeError:
        pass


def added_to_before_there_is_one(x):
    v += x
    return v


def bound_by_a_walrus(x):
    return (v := x) + v


def bound_in_one_branch(x):
    if x.sum() > 0:
        v = x
    return v


def bound_by_an_earlier_pass_of_a_for(x):
    for i in range(2):
        if i:
            x = x + v
        v = x
    return x


def bound_by_an_earlier_pass_of_a_while(x):
    while x.sum() < 9:
        x = x + (v if x.sum() > 5 else 1)
        v = x
    return x


def bound_by_a_comprehension(x):
    w = [v for v in x]
    return w[0]


def bound_before_the_inner_function_runs(x):
    def later():
        return v

    v = x
    return later()


def bound_in_a_handler(x):
    try:
        v = x
    except ValueError as e:
        v = str(e)
    return v


def bound_by_a_with(x):
    with torch.no_grad() as g:
        v = g
    return v


def bound_as_a_tuple(x):
    v, w = x, x
    return v + w


def bound_as_an_argument(x):
    x = x + 1
    return x


def annotated_and_read_at_once(x):
    v: int = v
    return v
