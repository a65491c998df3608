"""The manifests of images/pods, and the pods that their controllers make of them.

pods_of() says for each pod of a job what the controller adds to its template: variables, files, the
host name. Sources: the "Job with Pod-to-Pod Communication" page of Kubernetes, Volcano's env and svc
plugins, training-operator 1.9 pkg/controller.v1/pytorch/envvar.go and tensorflow/tensorflow.go,
mpi-operator 0.6 pkg/controller/mpi_job_controller.go, JobSet's placement of pods, lws
pkg/utils/pod/pod_utils.go, trainer 2.x pkg/runtime/framework/plugins/torch, MindCluster's
ascend-operator pkg/controllers/v1/env.go and service.go, and its description of hccl.json.
"""

import copy
import json
import os

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANK_TABLE = '/user/serverid/devindex/config/hccl.json'
# Beside what makes pods.
HELPERS = ('Service', 'ConfigMap', 'TrainJob', 'ClusterPolicy')
FOLDER = os.path.join(ROOT, 'images', 'pods')


def names():
    return sorted(name for name in os.listdir(FOLDER) if name.endswith('.yaml'))


def documents(name):
    with open(os.path.join(FOLDER, name), encoding='utf-8') as file:
        return list(yaml.safe_load_all(file))


def workload(name):
    """The document that makes pods; a runtime's with its job."""
    found = [document for document in documents(name) if document['kind'] not in HELPERS]
    assert len(found) == 1, f'{name}: one workload a manifest'
    jobs = [document for document in documents(name) if document['kind'] == 'TrainJob']
    return {**found[0], 'job': jobs[0]} if jobs else found[0]


REPLICAS = {'PyTorchJob': 'pytorchReplicaSpecs', 'MPIJob': 'mpiReplicaSpecs',
            'TFJob': 'tfReplicaSpecs', 'AscendJob': 'replicaSpecs'}


class Pod:
    def __init__(self, spec, host, domain='', variables=None, files=None):
        self.spec = copy.deepcopy(spec)
        self.ip = '10.0.0.7'
        self.host = host
        self.domain = domain  # of the service: host.domain is known to the others
        self.variables = {'KUBERNETES_SERVICE_HOST': '10.96.0.1', 'HOSTNAME': host,
                          **(variables or {})}
        self.files = files or {}  # path to content; a path that ends in / is a secret with ssh keys

    def main(self):
        return self.spec['containers'][0]

    def environment(self):
        """The controller's variables, then the manifest's, which win in Kubernetes too."""
        return {**self.variables,
                **{entry['name']: self.value_of(entry) for entry in self.main().get('env', [])}}

    def value_of(self, entry):
        if 'value' in entry:
            return entry['value']
        return {'status.podIP': self.ip, 'status.hostIP': '192.168.0.7',
                "metadata.annotations['huawei.com/Ascend910']": ','.join(
                    f'Ascend910-{index}' for index in range(self.devices()))}[
                        entry['valueFrom']['fieldRef']['fieldPath']]

    def devices(self):
        """How many of those that the manifest asks for."""
        return sum(int(number) for name, number in self.main()['resources']['requests'].items()
                   if '/' in name)


def templates_of(document):
    """(where, pod spec) of each template."""
    spec = document['spec']
    kind = document['kind']
    if kind == 'Pod':
        return [('spec', spec)]
    if kind == 'JobSet':
        return [(f'replicatedJobs[{job["name"]}]', job['template']['spec']['template']['spec'])
                for job in spec['replicatedJobs']]
    if kind == 'TrainingRuntime':
        return templates_of({'kind': 'JobSet', 'spec': spec['template']['spec']})
    if kind == 'LeaderWorkerSet':
        return [(name, spec['leaderWorkerTemplate'][name]['spec'])
                for name in ('leaderTemplate', 'workerTemplate')
                if name in spec['leaderWorkerTemplate']]
    if kind in REPLICAS:
        specs = spec[REPLICAS[kind]]
        return [(role, replica['template']['spec']) for role, replica in specs.items()]
    if 'tasks' in spec:
        return [(f'tasks[{task["name"]}]', task['template']['spec']) for task in spec['tasks']]
    return [('template', spec['template']['spec'])]


def pods_of(document):
    kind = document['kind']
    if document['apiVersion'].startswith('batch.volcano.sh'):
        return volcano_pods(document)
    return {'Pod': lone_pod, 'Job': indexed_pods, 'JobSet': jobset_pods,
            'PyTorchJob': pytorch_pods, 'MPIJob': mpi_pods, 'TFJob': tensorflow_pods,
            'AscendJob': ascend_pods, 'DaemonSet': node_pods, 'TrainingRuntime': trainer_pods,
            'LeaderWorkerSet': lws_pods}[kind](document)


def lone_pod(document):
    return [Pod(document['spec'], document['metadata']['name'])]


def node_pods(document):
    return [Pod(document['spec']['template']['spec'], document['metadata']['name'])]


def indexed_pods(document):
    name = document['metadata']['name']
    spec = document['spec']
    template = spec['template']['spec']
    return [Pod(template, f'{name}-{index}', template.get('subdomain', ''),
                {'JOB_COMPLETION_INDEX': str(index)})
            for index in range(spec['completions'])]


def jobset_pods(document):
    name = document['metadata']['name']
    domain = document['spec'].get('network', {}).get('subdomain', name)
    return [Pod(job['template']['spec']['template']['spec'],
                f'{name}-{job["name"]}-{replica}-{index}', domain,
                {'JOB_COMPLETION_INDEX': str(index)})
            for job in document['spec']['replicatedJobs']
            for replica in range(job.get('replicas', 1))
            for index in range(job['template']['spec']['completions'])]


def lws_pods(document):
    """Of all groups: the leader has the index 0, and its name has no number of its own."""
    name, spec = document['metadata']['name'], document['spec']
    both = spec['leaderWorkerTemplate']
    shared = spec.get('networkConfig', {}).get('subdomainPolicy') != 'UniquePerReplica'
    pods = []
    for group in range(spec.get('replicas', 1)):
        leader = f'{name}-{group}'
        domain = f'{name if shared else leader}.default'
        for index in range(both.get('size', 1)):
            template = both['workerTemplate'] if index else both.get('leaderTemplate',
                                                                     both['workerTemplate'])
            pods.append(Pod(template['spec'], f'{leader}-{index}' if index else leader, domain, {
                'LWS_LEADER_ADDRESS': f'{leader}.{domain}',
                'LWS_GROUP_SIZE': str(both.get('size', 1)), 'LWS_WORKER_INDEX': str(index)}))
    return pods


def volcano_pods(document):
    name = document['metadata']['name']
    spec = document['spec']
    shared = {}
    for task in spec['tasks'] if 'svc' in spec['plugins'] else []:
        upper = task['name'].upper().replace('-', '_')
        hosts = [f'{name}-{task["name"]}-{index}.{name}' for index in range(task['replicas'])]
        shared |= {f'VC_{upper}_HOSTS': ','.join(hosts), f'VC_{upper}_NUM': str(len(hosts))}
    pods = []
    for task in spec['tasks']:
        for index in range(task['replicas']):
            own = {variable: str(index) for variable in ('VK_TASK_INDEX', 'VC_TASK_INDEX')
                   if 'env' in spec['plugins']}
            pods.append(Pod(task['template']['spec'], f'{name}-{task["name"]}-{index}', name,
                            {**shared, **own}))
    if any('configMap' in volume for volume in pods[0].spec['volumes']):
        for index, pod in enumerate(pods):
            pod.ip = f'10.0.0.{7 + index}'
        table = rank_table(pods)
        for pod in pods:
            pod.files[RANK_TABLE] = table
    return pods


def rank_table(pods):
    """What MindCluster's operator writes when all devices of the job are known."""
    servers, rank = [], 0
    for node, pod in enumerate(pods):
        devices = []
        for index in range(pod.devices()):
            devices.append({'device_id': str(index), 'device_ip': f'192.168.{100 + node}.{index + 1}',
                            'rank_id': str(rank)})
            rank += 1
        servers.append({'device': devices, 'server_id': f'192.168.0.{7 + node}',
                        'host_ip': f'192.168.0.{7 + node}', 'container_ip': pod.ip})
    return json.dumps({'status': 'completed', 'server_list': servers,
                       'server_count': str(len(servers)), 'version': '1.0'})


def pytorch_pods(document):
    name = document['metadata']['name']
    specs = document['spec']['pytorchReplicaSpecs']
    each = document['spec']['nprocPerNode']
    nodes = sum(replica['replicas'] for replica in specs.values())
    master = f'{name}-master-0'
    pods = []
    for role in ('Master', 'Worker'):
        for index in range(specs[role]['replicas']):
            rank = str(len(pods))
            pods.append(Pod(specs[role]['template']['spec'], f'{name}-{role.lower()}-{index}', '', {
                'PYTHONUNBUFFERED': '1', 'MASTER_ADDR': master, 'MASTER_PORT': '23456',
                'WORLD_SIZE': str(nodes * int(each)), 'RANK': rank,
                'PET_MASTER_ADDR': master, 'PET_MASTER_PORT': '23456', 'PET_NODE_RANK': rank,
                'PET_NNODES': str(nodes), 'PET_NPROC_PER_NODE': each}))
    return pods


def mpi_pods(document):
    name = document['metadata']['name']
    specs = document['spec']['mpiReplicaSpecs']
    slots = document['spec'].get('slotsPerWorker', 1)
    domain = f'{name}.default.svc'
    workers = [f'{name}-worker-{index}' for index in range(specs['Worker']['replicas'])]
    keys = document['spec'].get('sshAuthMountPath', '/root/.ssh') + '/'
    hostfile = ''.join(f'{worker}.{domain} slots={slots}\n' for worker in workers)
    launcher = Pod(specs['Launcher']['template']['spec'], f'{name}-launcher', domain, {
        'K_MPI_JOB_ROLE': 'launcher', 'OMPI_MCA_orte_keep_fqdn_hostnames': 'true',
        'OMPI_MCA_orte_default_hostfile': '/etc/mpi/hostfile',
        'OMPI_MCA_plm_rsh_args': '-o ConnectionAttempts=10',
        'OMPI_MCA_orte_set_default_slots': str(slots),
        'NVIDIA_VISIBLE_DEVICES': '', 'NVIDIA_DRIVER_CAPABILITIES': ''},
        {'/etc/mpi/hostfile': hostfile, keys: None})
    return [launcher] + [Pod(specs['Worker']['template']['spec'], worker, domain,
                             {'K_MPI_JOB_ROLE': 'worker'}, {keys: None}) for worker in workers]


def tensorflow_pods(document):
    name = document['metadata']['name']
    specs = document['spec']['tfReplicaSpecs']
    hosts = {role.lower(): [f'{name}-{role.lower()}-{index}' for index in range(replica['replicas'])]
             for role, replica in specs.items()}
    cluster = {role: [f'{host}.default.svc:2222' for host in names] for role, names in hosts.items()}
    return [Pod(specs[role]['template']['spec'], host, 'default.svc', {'TF_CONFIG': json.dumps(
        {'cluster': cluster, 'task': {'type': role.lower(), 'index': index},
         'environment': 'cloud'})})
            for role in specs for index, host in enumerate(hosts[role.lower()])]


def ascend_pods(document):
    name = document['metadata']['name']
    specs = document['spec']['replicaSpecs']
    nodes = sum(replica['replicas'] for replica in specs.values())
    master = specs['Master']['template']['spec']['containers'][0]
    [port] = [str(port['containerPort']) for port in master['ports']
              if port['name'] == 'ascendjob-port']
    pods = []
    for role in ('Master', 'Worker'):
        for index in range(specs[role]['replicas']):
            pod = Pod(specs[role]['template']['spec'], f'{name}-{role.lower()}-{index}')
            each = pod.devices()
            pod.variables |= {
                'ASCEND_VISIBLE_DEVICES': ','.join(f'Ascend910-{device}' for device in range(each)),
                'MINDX_TASK_ID': 'b3ad6ab1', 'MINDX_SERVER_IP': '10.96.0.9',
                'HostNetwork': 'false', 'REPLICA_TYPE': role, 'HCCL_LOGIC_SUPERPOD_ID': '0',
                'MASTER_ADDR': f'{name}-master-0', 'MASTER_PORT': port, 'RANK': str(len(pods)),
                'WORLD_SIZE': str(each * nodes), 'LOCAL_WORLD_SIZE': str(each),
                'LOCAL_RANK': ','.join(str(rank) for rank in range(each))}
            pods.append(pod)
    return pods


def trainer_pods(document):
    job = document['job']
    name, trainer = job['metadata']['name'], job['spec']['trainer']
    [replicated] = document['spec']['template']['spec']['replicatedJobs']
    pods = []
    for index in range(trainer['numNodes']):
        pod = Pod(replicated['template']['spec']['template']['spec'],
                  f'{name}-{replicated["name"]}-0-{index}', name, {
                      'JOB_COMPLETION_INDEX': str(index), 'PET_NODE_RANK': str(index),
                      'PET_NNODES': str(trainer['numNodes']),
                      'PET_NPROC_PER_NODE': str(trainer['numProcPerNode']),
                      'PET_MASTER_ADDR': f'{name}-node-0-0.{name}', 'PET_MASTER_PORT': '29500'})
        pod.main()['args'] = trainer['args']
        pods.append(pod)
    return pods
