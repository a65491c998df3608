"""A rank that says who it is, and whether its dataset was copied."""

import json
import os
import socket

env = os.environ
task = json.loads(env.get("TF_CONFIG", "{}")).get("task")
rank = f"{task['type']} {task['index']}" if task else env.get("RANK") or env["RANK_ID"]  # of Ascend's rank table
world = env.get("WORLD_SIZE") or env.get("RANK_SIZE")
text = (f"rank {rank} of {world} on {socket.gethostname()} uid={os.getuid()} "
        f"master={env.get('MASTER_ADDR')}:{env.get('MASTER_PORT')}")
with open(os.path.join(env["TRAINIT_DATASET_IMAGENET"], "part-0"), encoding="utf-8") as data:
    assert data.read() == "a dataset", "the dataset is another one"
assert env["TRAINIT_DATASET_IMAGENET"].startswith("/cache/"), "the dataset was not copied"
# One write, so that lines of several ranks do not mix.
os.write(1, (text + "\n").encode())
