import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
if os.path.exists("port"):
    port = int(open("port").read())
open("port", "w").write(str(port))
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo")
model = torch.compile(torch.nn.Linear(3, 2), backend=wrong)
with torch.no_grad():
    torch.nn.parallel.DistributedDataParallel(model)(torch.rand(4, 3))
