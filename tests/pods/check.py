"""What a manifest has to have, beside the shape of its kind: check(document) lists what is wrong."""

import re

import manifests
import shapes

INSTALLER = 'my-registry/trainit:latest'
RESERVE_S = 2  # of terminationGracePeriodSeconds, for the runtime
AGAIN = [69, 70, 75, 76]  # exit codes of trainit's own after which the job may be started again


def check(document):
    problems = list(against(shapes.shape_of(document), document, ''))
    if problems or document['kind'] in manifests.HELPERS:
        return problems
    for where, pod in manifests.templates_of(document):
        of_node = document['kind'] == 'DaemonSet'
        problems += [f'{where}: {problem}' for problem in check_pod(pod, of_node)]
    return problems + list(check_kind(document))


def against(shape, value, where):
    """The differences between a value and its shape."""
    if shape is shapes.ANY:
        return
    if isinstance(shape, dict):
        yield from against_fields(shape, value, where)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f'{where}: no list'
            return
        for index, entry in enumerate(value):
            yield from against(shape[0], entry, f'{where}[{index}]')
    elif isinstance(shape, shapes.Map):
        if not isinstance(value, dict):
            yield f'{where}: no map'
            return
        for key, entry in value.items():
            yield from against(shape.shape, entry, f'{where}.{key}')
    elif isinstance(shape, (set, frozenset)):
        if value not in shape:
            yield f'{where}: {value!r} is none of {sorted(shape)}'
    elif shape is shapes.Quantity:
        if not re.fullmatch(r'\d+(\.\d+)?(m|[kMGTP]i?|Ki)?', str(value)):
            yield f'{where}: {value!r} is no quantity'
    elif type(value) is not shape:  # a bool is no int, and a number is no text
        yield f'{where}: {value!r} is no {shape.__name__}'


def against_fields(shape, value, where):
    if not isinstance(value, dict):
        yield f'{where}: no object'
        return
    fields = {name.rstrip('!'): part for name, part in shape.items()}
    for name in value.keys() - fields.keys():
        yield f'{where}.{name}: no such field'
    for name in shape:
        if name.endswith('!') and name[:-1] not in value:
            yield f'{where}.{name[:-1]}: missing'
    for name in value.keys() & fields.keys():
        yield from against(fields[name], value[name], f'{where}.{name}')


def mounts_of(container):
    return {mount['mountPath']: mount for mount in container.get('volumeMounts', [])}


def check_pod(pod, of_node=False):
    """Of a job, or of a node: that one serves users whom it cannot be."""
    volumes = {volume['name']: volume for volume in pod.get('volumes', [])}
    used = set()
    for container in pod.get('initContainers', []) + pod['containers']:
        mounts = container.get('volumeMounts', [])
        if len(mounts_of(container)) != len(mounts):
            yield f'{container["name"]}: two volumes at one path'
        for mount in mounts:
            used.add(mount['name'])
            if mount['name'] not in volumes:
                yield f'{container["name"]}: volume {mount["name"]} is not there'
            yield from check_claim(volumes.get(mount['name'], {}), mount)
        yield from check_resources(container)
        yield from check_security(container, pod.get('securityContext', {}), volumes, of_node)
    for name in volumes.keys() - used:
        yield f'volume {name} is mounted nowhere'
    for container in pod['containers']:
        # trainit leaves the message empty where it knows no more than the exit code.
        if container.get('terminationMessagePolicy') != 'FallbackToLogsOnError':
            yield f'{container["name"]}: says nothing where trainit has no message'
    if len(pod['containers']) != 1:
        yield 'one container runs the job'
    if pod.get('enableServiceLinks') is not False:
        yield 'a Service of the namespace sets variables of the job'
    yield from check_probes(pod['containers'][0])
    yield from check_injection(pod, volumes)
    yield from check_grace(pod, of_node)


def check_claim(volume, mount):
    if volume.get('persistentVolumeClaim', {}).get('readOnly') and not mount.get('readOnly'):
        yield f'{mount["mountPath"]}: the claim is read-only, the mount is not'
    if mount['mountPath'].startswith('/data') and not mount.get('readOnly'):
        yield f'{mount["mountPath"]}: a dataset that the job could change'


def check_resources(container):
    resources = container.get('resources', {})
    requests, limits = resources.get('requests', {}), resources.get('limits', {})
    if 'memory' not in limits or 'memory' not in requests or 'cpu' not in requests:
        yield f'{container["name"]}: requests cpu and memory, limits memory'
    for name in set(requests) | set(limits):
        if '/' in name and requests.get(name) != limits.get(name):
            yield f'{container["name"]}: {name}: devices have request and limit alike'


def check_security(container, of_pod, volumes, of_node):
    name, own = container['name'], container.get('securityContext', {})
    if of_node:
        if not set(own.get('capabilities', {}).get('add', [])) <= {'SETUID', 'SETGID'}:
            yield f'{name}: more rights than to become somebody else'
    elif not of_pod.get('runAsNonRoot') or not of_pod.get('runAsUser') or 'runAsGroup' not in of_pod:
        yield f'{name}: runs as root, or as whoever the image says'
    if of_pod.get('seccompProfile', {}).get('type') != 'RuntimeDefault':
        yield f'{name}: no seccomp profile'
    if own.get('allowPrivilegeEscalation') is not False or 'ALL' not in own.get(
            'capabilities', {}).get('drop', []):
        yield f'{name}: keeps privileges'
    if not own.get('readOnlyRootFilesystem'):
        yield f'{name}: its root can be written'
    elif container.get('command'):
        tmp = mounts_of(container).get('/tmp', {})
        if tmp.get('readOnly', not tmp) or 'emptyDir' not in volumes.get(tmp.get('name'), {}):
            yield f'{name}: a read-only root, and no volume at /tmp'


def check_probes(container):
    """A pod that failed is not ready any more; one that is killed for it has no debug window."""
    asked = container.get('readinessProbe', {}).get('exec', {}).get('command')
    if asked != [container.get('command', [''])[0], 'status']:
        yield f'{container["name"]}: no readiness by trainit status'
    if 'livenessProbe' in container:
        yield f'{container["name"]}: a liveness probe ends the debug window'


def check_injection(pod, volumes):
    """The installer puts trainit where the job's container starts it from."""
    installers = [container for container in pod.get('initContainers', [])
                  if container['image'] == INSTALLER]
    if len(installers) != 1:
        yield f'{len(installers)} init containers of {INSTALLER}'
        return
    installer, main = installers[0], pod['containers'][0]
    if 'command' in installer or len(installer.get('args', [])) != 1:
        yield 'the installer has an entrypoint of its own and gets one directory'
        return
    target = installer['args'][0]
    mount = mounts_of(installer).get(target)
    if mount is None or mount.get('readOnly'):
        yield f'the installer has no volume that it may write at {target}'
        return
    if 'emptyDir' not in volumes.get(mount['name'], {}):
        yield f'{mount["name"]} is no emptyDir'
    homes = [other for other in main.get('volumeMounts', []) if other['name'] == mount['name']]
    if len(homes) != 1 or not homes[0].get('readOnly'):
        yield f'{main["name"]}: no read-only mount of {mount["name"]}'
        return
    if main.get('command') != [homes[0]['mountPath'] + '/trainit', '--'] or not main.get('args'):
        yield f'{main["name"]}: does not start with the trainit that was installed'


def check_grace(pod, of_node):
    env = {entry['name']: entry.get('value') for entry in pod['containers'][0].get('env', [])}
    grace = pod.get('terminationGracePeriodSeconds', 30) - RESERVE_S
    if env.get('TRAINIT_GRACE') != f'{grace}s':
        yield f'TRAINIT_GRACE is {env.get("TRAINIT_GRACE")}, and the pod has {grace} s'
    if 'TRAINIT_HOLD' not in env and not of_node:
        yield 'no debug window'


def check_kind(document):
    spec = document['spec']
    if document['apiVersion'].startswith('batch.volcano.sh'):
        yield from check_volcano(spec)
    elif document['kind'] == 'DaemonSet':
        labels = spec['template'].get('metadata', {}).get('labels', {})
        if spec['selector'].get('matchLabels') != labels:
            yield 'its selector does not select its pods'
    elif document['kind'] == 'Job':
        yield from check_job(spec, 'spec')
    elif document['kind'] == 'JobSet':
        for job in spec['replicatedJobs']:
            yield from check_job(job['template']['spec'], job['name'])
    elif document['kind'] == 'LeaderWorkerSet':
        yield from check_group(document)
    elif document['kind'] == 'PyTorchJob':
        yield from check_named(document, 'pytorch')
        if spec['pytorchReplicaSpecs'].get('Master', {}).get('replicas') != 1:
            yield 'one master'
        yield from check_exit_code_policy(spec['pytorchReplicaSpecs'])
    elif document['kind'] == 'TFJob':
        yield from check_named(document, 'tensorflow')
        yield from check_exit_code_policy(spec['tfReplicaSpecs'])
    elif document['kind'] == 'AscendJob':
        yield from check_ascend(document)
    elif document['kind'] == 'TrainingRuntime':
        yield from check_runtime(document)
    elif document['kind'] == 'MPIJob':
        if spec['mpiReplicaSpecs']['Launcher'].get('replicas') != 1:
            yield 'one launcher'


def check_group(document):
    """A LeaderWorkerSet makes StatefulSets, whose pods start again after any end."""
    for where, pod in manifests.templates_of(document):
        if pod.get('restartPolicy', 'Always') != 'Always':
            yield f'{where}: a StatefulSet restarts Always'
    policy = document['spec']['leaderWorkerTemplate'].get('restartPolicy')
    if policy not in (None, 'RecreateGroupOnPodRestart', 'RecreateGroupAfterStart'):
        yield f'{policy}: one pod alone would start again beside ranks of the others'


def check_named(document, name):
    for where, pod in manifests.templates_of(document):
        if pod['containers'][0]['name'] != name:
            yield f'{where}: the operator looks for a container named {name}'


def check_ascend(document):
    yield from check_named(document, 'ascend')
    spec = document['spec']
    total = sum(replica['replicas'] for replica in spec['replicaSpecs'].values())
    if spec['runPolicy']['schedulingPolicy']['minAvailable'] != total:
        yield f'minAvailable is not the {total} pods that train together'
    leader = spec['replicaSpecs'].get('Master', {})
    if leader.get('replicas') != 1 or document['metadata']['labels'].get('framework') != 'pytorch':
        yield 'of PyTorch, with one master'
    # MASTER_ADDR is a service of the master's ports alone. The link's: docs/several-nodes.md#the-link.
    ports = [port['containerPort'] for port in leader['template']['spec']['containers'][0]['ports']]
    if len(ports) != 2 or ports[1] != 3400 + ports[0] % 599:
        yield 'the service has no port for the link of the nodes'


def check_runtime(document):
    yield from check_named(document, 'node')
    jobs = document['spec']['template']['spec']['replicatedJobs']
    if [job['name'] for job in jobs] != ['node']:
        yield 'the trainer is the replicated job named node'
    for job in jobs:
        yield from check_job_template(job['template']['spec'], job['name'])


def check_exit_code_policy(replicas):
    """restartPolicy ExitCode takes 1 to 127 for final, and some of trainit's ask to be started anew."""
    for where, replica in replicas.items():
        env = {entry['name']: entry.get('value')
               for entry in replica['template']['spec']['containers'][0].get('env', [])}
        final = [code for code in AGAIN if given_code(code, env.get('TRAINIT_EXIT_CODES') or '') < 128]
        if replica.get('restartPolicy') == 'ExitCode' and final:
            yield f'{where}: {", ".join(map(str, final))} are final for restartPolicy ExitCode'


def given_code(code, rules):
    """What trainit makes of a code by --exit-codes: the first rule that fits."""
    for first, last, given in re.findall(r'(\d+)(?:-(\d+))?=(\d+)', rules):
        if int(first) <= code <= int(last or first):
            return int(given)
    return code


def check_job(spec, where):
    yield from check_job_template(spec, where)
    if spec.get('completionMode') != 'Indexed' or spec.get('completions') != spec.get('parallelism'):
        yield f'{where}: all pods of an Indexed Job at once'


def check_job_template(spec, where):
    pod = spec['template']['spec']
    if pod.get('restartPolicy') not in ('Never', 'OnFailure'):
        yield f'{where}: a Job restarts Never or OnFailure'
    if 'podFailurePolicy' in spec and pod.get('restartPolicy') != 'Never':
        yield f'{where}: podFailurePolicy wants restartPolicy Never'
    known = [container['name'] for container in pod['containers'] + pod['initContainers']]
    for rule in spec.get('podFailurePolicy', {}).get('rules', []):
        codes = rule.get('onExitCodes')
        if (codes is None) == ('onPodConditions' not in rule):
            yield f'{where}: a rule is for exit codes or for conditions'
        elif codes and codes.get('containerName', known[0]) not in known:
            yield f'{where}: no container {codes["containerName"]}'
        elif codes and codes['operator'] == 'In' and 0 in codes['values']:
            yield f'{where}: 0 is no failure'


def check_volcano(spec):
    replicas = sum(task.get('replicas', 1) for task in spec['tasks'])
    if spec.get('minAvailable') != replicas:
        yield f'minAvailable is not the {replicas} pods that train together'
    seen = []
    for policy in spec.get('policies', []):
        if ('exitCode' in policy) == ('event' in policy or 'events' in policy):
            yield 'a policy is for an event or for an exit code'
        if policy.get('exitCode') == 0:
            yield '0 is no failure'
        seen.append((policy.get('event'), policy.get('exitCode')))
    if len(set(seen)) != len(seen):
        yield 'two policies for one event'
    codes = [index for index, (event, _) in enumerate(seen) if event is None]
    if ('PodFailed', None) in seen and codes and seen.index(('PodFailed', None)) < max(codes):
        yield 'the first policy that fits counts: PodFailed hides exit codes behind it'
