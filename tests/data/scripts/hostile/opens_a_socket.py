import socket
import sys

port = int(sys.argv[3])
for family, address in (
    (socket.AF_INET, ("127.0.0.1", port)),
    (socket.AF_INET, ("1.1.1.1", 53)),
    (socket.AF_UNIX, "\0bugreport-test"),
):
    try:
        s = socket.socket(family)
        s.settimeout(2)
        s.connect(address)
        print("connected", address)
    except OSError as error:
        print("refused", error.errno)
