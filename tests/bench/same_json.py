"""same_json.py A B: exit code 0 when both files hold the same JSON value."""

import json
import sys

values = []
for path in sys.argv[1:3]:
    with open(path, encoding="utf-8") as file:
        values.append(json.load(file))
sys.exit(0 if values[0] == values[1] else 1)
