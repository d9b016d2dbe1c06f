import multiprocessing
import os
import subprocess
import tempfile

with tempfile.NamedTemporaryFile("w+") as file:
    file.write("x")
    file.flush()
multiprocessing.Lock()
open("/tmp/a.cpp", "w").write("int main() { return 3; }")
print(subprocess.call(["g++", "/tmp/a.cpp", "-o", "/tmp/a"]) or subprocess.call(["/tmp/a"]))
print(os.getcwd(), os.path.expanduser("~"), sorted(os.listdir(".")))
