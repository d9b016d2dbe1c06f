from torch.utils import collect_env

env, cost = measured(module.collect_environment)
theirs = collect_env.get_env_info()._asdict()
print(json.dumps({"env": env, "cost": cost, "theirs": theirs}))
