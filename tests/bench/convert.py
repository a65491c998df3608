"""A rank table's conversion from template 2 to template 1 as a script does it: what bench compares with.

convert.py IN OUT: servers in the order of the pods' index, ranks counted through.
"""

import json
import sys


def pod_index(instance):
    return int(instance["pod_name"].rsplit("-", 1)[1])


def convert(table):
    servers = {}
    rank = 0
    for instance in sorted(table["group_list"][0]["instance_list"], key=pod_index):
        devices = servers.setdefault(instance["server_id"], [])
        for device in instance["devices"]:
            devices.append(
                {
                    "device_id": device["device_id"],
                    "device_ip": device["device_ip"],
                    "rank_id": str(rank),
                }
            )
            rank += 1
    return {
        "status": "completed",
        "version": "1.0",
        "server_count": str(len(servers)),
        "server_list": [{"server_id": name, "device": devices} for name, devices in servers.items()],
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        table = json.load(source)
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        json.dump(convert(table), target, indent=2)


main()
