"""The cells of link_faults.py: a value of each factor, chosen so that each pair of values occurs."""

import itertools

FACTORS = {
    "nodes": (3, 5),
    "hooks": ("none", "project", "slow"),  # slow: one node's takes seconds
    "data": ("none", "copied"),
    "mode": ("stop", "restart", "elastic"),
    "warm": ("cold", "warm"),
    "cpu": ("full", "limited"),  # of the culprit's node
    "fault": ("rank exits", "rank killed", "container killed", "node 0 killed", "hook fails", "checkpoint"),
}
# Plain jobs: only the link and the first failure.
PLAIN = {"nodes": 3, "hooks": "none", "data": "none", "mode": "stop", "warm": "cold", "cpu": "full"}
PLAIN_FAULTS = ("rank exits", "rank killed", "container killed")


def is_possible(cell):
    return cell["warm"] == "cold" or cell["mode"] != "stop"  # --warm asks for restarts


def pairs_of(cell):
    return set(itertools.combinations(cell.items(), 2))


def cells_with(only):
    """All possible cells whose factors have one of the values of `only`."""
    values = [only.get(factor, FACTORS[factor]) for factor in FACTORS]
    cells = (dict(zip(FACTORS, chosen)) for chosen in itertools.product(*values))
    return [cell for cell in cells if is_possible(cell)]


def covering(rng, only):
    """Cells in which each pair that a possible cell has occurs; which ones is the generator's choice."""
    cells = cells_with(only)
    rng.shuffle(cells)
    open_pairs = set().union(*map(pairs_of, cells))
    chosen = []
    while open_pairs:
        chosen.append(max(cells, key=lambda cell: len(pairs_of(cell) & open_pairs)))
        open_pairs -= pairs_of(chosen[-1])
    return chosen
