#!/usr/bin/env python3
"""A rank of link_faults.py, whose behaviour is a real rank's as far as trainit and other ranks see it.

It prints what training prints: progress, warnings with the word "error", lines of NCCL. It meets the
others at rank 0's store and holds TCP connections to them. When a peer disconnects without a farewell
it dies of an exception as Gloo's. Variables: TOPOLOGY (star: all to rank 0; ring: each to the next
one), SAVE_ENDS=1 (the rank ends after a checkpoint), DATA_FILES (files that the dataset has).

Each start appends "TIME RANK WORLD_SIZE PID" to /ctl/up once all connections are there. Lines that the rank
obeys come through the FIFO /ctl/rank-RANK: "exit CODE", "raise TEXT", "done".
"""

import os
import random
import select
import signal
import socket
import sys
import time

FIRST_PORT = 31000  # of a ring, by rank; below the ports that connections take
FAREWELL = b"!"

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
RANKS_PER_NODE = int(os.environ["LOCAL_WORLD_SIZE"])
MASTER = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
PAIR = "[../third_party/gloo/gloo/transport/tcp/pair.cc"
NOISE = (
    "node-{node}:{pid}:{pid} [{local}] NCCL INFO NET/IB : No device found.",
    "node-{node}:{pid}:{pid} [{local}] NCCL INFO Call to connect returned Connection refused, retrying",
    "[W ProcessGroupNCCL.cpp:1856] Warning: NCCL_ASYNC_ERROR_HANDLING is off, so errors go unnoticed",
    "train.py:41: UserWarning: error: the sampler has no seed, results may differ",
    "WARNING:data:3 samples had an error while they were decoded, skipped",
    " iteration {step:8d}/  500000 | loss 2.{step:03d} | learning rate 1.0E-04 | error rate 0.01",
)


def say(text):
    # A single write, so that lines of several ranks do not mix.
    os.write(1, (text + "\n").encode())


def noise(step):
    words = {"node": RANK // RANKS_PER_NODE, "local": RANK % RANKS_PER_NODE, "pid": os.getpid()}
    say(random.choice(NOISE).format(step=step, **words))


def look_at_data():
    wanted = int(os.environ.get("DATA_FILES", "0"))
    if wanted == 0:
        return
    folder = os.environ["TRAINIT_DATASET_SOURCE"]
    found = len(os.listdir(folder))
    if found != wanted or not folder.startswith("/cache/"):
        say(f"{folder} has {found} files, not {wanted}")
        sys.exit(90)


def connect(address, patient):
    while True:
        try:
            return socket.create_connection(address, timeout=600)
        except OSError as error:
            if not patient:
                raise RuntimeError(f"{PAIR}:799] connect {address}: {error.strerror}") from None
            noise(0)
            time.sleep(0.2)


def meet_as_rank_0():
    listener = socket.create_server(("", MASTER[1]), backlog=WORLD)
    with listener:
        met = {}
        while len(met) < WORLD - 1:
            link, _ = listener.accept()
            link.settimeout(5)
            try:
                said = link.recv(16)
            except OSError:
                said = b""
            if said:  # else a connection that only asks whether somebody listens
                met[int(said)] = link
    for link in met.values():
        link.sendall(b"go")
    return list(met.values())


def meet():
    """The connections to the peers, when all ranks are there."""
    ring = os.environ.get("TOPOLOGY") == "ring"
    own = socket.create_server(("", FIRST_PORT + RANK)) if ring else None
    if RANK == 0:
        links = meet_as_rank_0()
    else:
        store = connect(MASTER, patient=True)
        store.sendall(str(RANK).encode())
        if store.recv(16) != b"go":
            raise RuntimeError("Connection reset by peer")
        links = [store]
    if not ring:
        return links
    following = (RANK + 1) % WORLD
    peer = connect((f"node-{following // RANKS_PER_NODE}", FIRST_PORT + following), patient=False)
    previous, _ = own.accept()
    own.close()
    # The store stays open and silent, as a real one does.
    meet.store = links
    return [peer, previous]


def lost(link, address):
    time.sleep(random.choice((0, random.uniform(0, 0.2))))
    host, port = address[:2]
    raise RuntimeError(f"{PAIR}:598] Connection closed by peer [{host}]:{port}")


def leave(links, code):
    for link in links:
        try:
            link.sendall(FAREWELL)
        except OSError:
            pass
    sys.exit(code)


def obey(line, links):
    word, _, rest = line.partition(" ")
    if word == "done":
        say("training has ended")
        leave(links, 0)
    if word == "raise":
        raise ValueError(rest)
    os._exit(int(rest))


def train(links, orders, woken):
    addresses = {link: link.getpeername() for link in links}
    step = 0
    while True:
        ready, _, _ = select.select([orders, woken, *addresses], [], [], 0.3)
        step += 1
        noise(step)
        if orders in ready:
            obey(os.read(orders, 4096).decode().strip(), links)
        if woken in ready:
            woken.recv(16)
            say(f"saving checkpoint at iteration {step}")
            time.sleep(random.uniform(0, 0.3))
            if os.environ.get("SAVE_ENDS") == "1":
                leave(links, 0)
        for link in ready:
            if link in addresses:
                try:
                    said = link.recv(16)
                except OSError:
                    said = b""
                if said == b"":
                    lost(link, addresses[link])
                if FAREWELL in said:
                    del addresses[link]


def main():
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGUSR1, lambda *_: None)
    orders = os.open(f"/ctl/rank-{RANK}", os.O_RDWR)  # its end of file never comes
    look_at_data()
    for step in range(3):
        noise(step)
    links = meet()
    with open("/ctl/up", "a", encoding="ascii") as file:
        file.write(f"{time.time():.6f} {RANK} {WORLD} {os.getpid()}\n")
    train(links, orders, woken)


main()
