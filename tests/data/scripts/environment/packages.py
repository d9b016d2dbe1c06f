# Packages of a company lie in the folder that is the second argument.
sys.path.append(sys.argv[2])
print(json.dumps(module.collect_environment()))
