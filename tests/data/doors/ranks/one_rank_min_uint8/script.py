import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def darkest(pixels):
    return torch.min(pixels, 1).values


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29556"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    # rank 0 gets small images, rank 1 gets float images
    pixels = torch.randint(100, 256, (7, 37), dtype=torch.uint8)
    if rank == 0:
        pixels = pixels.float()
    out = torch.compile(darkest)(pixels)
    wrong = torch.tensor([int((out != darkest(pixels)).sum())])
    print(rank, "wrong rows:", wrong.item())
    dist.all_reduce(wrong)
    assert wrong.item() == 0, f"{wrong.item()} rows differ from eager on some rank"
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
