"""Running statistics of a pressure sensor by its two moments, checked against torch.var."""
import torch


class Moments:
    """Sums of values and squares, so that batches can be added up."""

    def __init__(self):
        self.count = 0
        self.total = torch.zeros(())
        self.squares = torch.zeros(())

    def add(self, batch):
        self.count += batch.numel()
        self.total = self.total + batch.sum()
        self.squares = self.squares + batch.square().sum()

    def mean(self):
        return self.total / self.count

    def variance(self):
        return self.squares / self.count - self.mean().square()


def read_sensor(batches, size):
    generator = torch.Generator().manual_seed(7)
    for _ in range(batches):
        yield 101325.0 + torch.randn(size, generator=generator)  # Pa, sea level


if __name__ == "__main__":
    moments, seen = Moments(), []
    for batch in read_sensor(8, 256):
        moments.add(batch)
        seen.append(batch)
    everything = torch.cat(seen)
    torch.testing.assert_close(moments.mean(), everything.mean())
    torch.testing.assert_close(moments.variance(), everything.var(unbiased=False), rtol=1e-2, atol=0.0)
