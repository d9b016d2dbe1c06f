import os
import site
import sys
import sysconfig

planted = getattr(sys.modules.get("sitecustomize"), "EVIL", 0)
print("planted" if planted else "clean")
places = (
    sysconfig.get_path("purelib"),
    site.getusersitepackages(),
    sysconfig.get_path("stdlib"),
    os.getcwd(),
)
for place in places:
    try:
        os.makedirs(place, exist_ok=True)
        open(os.path.join(place, "sitecustomize.py"), "w").write("EVIL = 1")
    except OSError:
        pass
