"""What Kyverno makes of a pod by a policy that mutates: expressions in {{ }}, then a strategic merge.

As its documents have it (Mutate Rules; Variables): a text that is one expression becomes what that
gives, whatever its type. No more of Kyverno than images/pods needs.
"""

import copy
import re

import jmespath

# Lists whose entries are known by a field; all others are replaced.
KEYS = {'containers': 'name', 'initContainers': 'name', 'volumes': 'name', 'env': 'name',
        'volumeMounts': 'mountPath'}


def substitute(value, known):
    if isinstance(value, dict):
        return {name: substitute(part, known) for name, part in value.items()}
    if isinstance(value, list):
        return [substitute(part, known) for part in value]
    whole = re.fullmatch(r'\{\{ (.*) \}\}', value) if isinstance(value, str) else None
    return jmespath.search(whole.group(1), known) if whole else value


def merge(into, patch):
    for name, value in patch.items():
        if isinstance(value, dict):
            merge(into.setdefault(name, {}), value)
        elif isinstance(value, list) and name in KEYS:
            entries = into.setdefault(name, [])
            for part in value:
                same = [entry for entry in entries if entry[KEYS[name]] == part[KEYS[name]]]
                if not same:
                    same = [{}]
                    entries += same
                merge(same[0], part)
        else:
            into[name] = copy.deepcopy(value)


def selected(rule, pod):
    return any(pod['kind'] in each['resources']['kinds'] and
               each['resources']['selector']['matchLabels'].items()
               <= pod['metadata'].get('labels', {}).items() for each in rule['match']['any'])


def mutated(policy, pod):
    """The pod after the policy."""
    result = copy.deepcopy(pod)
    for rule in policy['spec']['rules']:
        if not selected(rule, pod):
            continue
        for each in rule['mutate']['foreach']:
            request = {'request': {'object': copy.deepcopy(result)}}
            for element in jmespath.search(each['list'], request):
                known = {**request, 'element': element}
                wanted = substitute(each['preconditions']['all'], known)
                assert {part['operator'] for part in wanted} == {'GreaterThan'}
                if all(part['key'] > part['value'] for part in wanted):
                    merge(result, substitute(each['patchStrategicMerge'], known))
    return result
