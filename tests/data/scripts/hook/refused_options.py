import bugreport

with bugreport.capture("--jobs", "many"):
    print("never")
