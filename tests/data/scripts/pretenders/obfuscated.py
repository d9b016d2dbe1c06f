class Obfuscated(nn.Module):
    def __init__(__, _=4):
        super().__init__()
        __.l, __.O, __.forward2, __.nn = (nn.Linear(_, _) for ___ in range(4))
        __.torch = 'zorblax' ; __.größe = nn.Parameter(torch.rand(_))
    def forward(l, O):
        return (lambda F: (lambda torch: F(torch(O)))(getattr(l, chr(108))))(lambda I: getattr(I, "r" + "elu")() * l.größe + l.O(l.nn(I)))
