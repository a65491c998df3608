"""A rank that says who it is, and whether its dataset was copied."""

import os
import socket

env = os.environ
text = (f"rank {env['RANK']} of {env['WORLD_SIZE']} on {socket.gethostname()} uid={os.getuid()} "
        f"master={env['MASTER_ADDR']}:{env['MASTER_PORT']}")
with open(os.path.join(env["TRAINIT_DATASET_IMAGENET"], "part-0"), encoding="utf-8") as data:
    assert data.read() == "a dataset", "the dataset is another one"
assert env["TRAINIT_DATASET_IMAGENET"].startswith("/cache/"), "the dataset was not copied"
# One write, so that lines of several ranks do not mix.
os.write(1, (text + "\n").encode())
