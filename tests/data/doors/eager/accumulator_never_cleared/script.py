import torch


def running_mean(batches):
    total = torch.empty(200)
    for b in batches:
        total += b
    return total / len(batches)


def warm_up():
    return [torch.rand(200) * 1e6 for _ in range(64)]


warm_up()
batches = [torch.ones(200) for _ in range(4)]
mean = running_mean(batches)
print(mean[:4])
torch.testing.assert_close(mean, torch.ones(200))
