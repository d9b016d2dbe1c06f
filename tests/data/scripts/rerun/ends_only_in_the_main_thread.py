import threading


def slow(graph, inputs):
    if threading.current_thread() is not threading.main_thread():
        while True:
            time.sleep(1)
    return wrong(graph, inputs)


torch.compile(torch.nn.ReLU(), backend=slow)(torch.rand(3))
