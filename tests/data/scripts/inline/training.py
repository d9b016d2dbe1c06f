class Repro(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, self.training)
