#!/usr/bin/python3
"""The manifests of images/pods: their shape, their wiring, and that the real program takes them.

structure_test.py TRAINIT
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check  # noqa: E402
import manifests  # noqa: E402
import policy  # noqa: E402
import shapes  # noqa: E402
import yaml  # noqa: E402

TRAINIT = ''
PATH = '/usr/bin:/bin'

# Manifest: platform, framework, nodes, world size, ranks that trainit starts in a pod.
EXPECTED = {
    'pod.yaml': ('local', 'single', 1, 1, 1),
    'job.yaml': ('indexed', 'pytorch', 2, 16, 8),
    'jobset.yaml': ('indexed', 'pytorch', 2, 16, 8),
    'leaderworkerset.yaml': ('lws', 'pytorch', 2, 16, 8),
    'pytorchjob.yaml': ('kubeflow', 'pytorch', 2, 16, 8),
    'volcano-gpu.yaml': ('vk', 'pytorch', 2, 16, 1),
    'volcano-mlu.yaml': ('vk', 'pytorch', 2, 16, 8),
    'volcano-ascend.yaml': ('volcano', 'ascend', 2, 16, 8),
    'ascendjob.yaml': ('volcano', 'pytorch', 2, 16, 8),
    'trainjob.yaml': ('kubeflow', 'pytorch', 2, 16, 8),
    'tfjob.yaml': ('kubeflow', 'tensorflow', 3, 2, 1),
    'mpijob.yaml': ('kubeflow', 'mpi', 3, 16, 1),
}


# What is no job.
OTHERS = ['cache-gc.yaml', 'inject-kyverno.yaml']

# The codes of trainit's own after which starting the job again does not help.
NEVER = [124, 125, 126, 127]


def reaction_to(code, policy):
    """What a podFailurePolicy does with a container's exit code: the first rule that fits."""
    for rule in policy['rules']:
        codes = rule.get('onExitCodes')
        if codes and (code in codes['values']) == (codes['operator'] == 'In'):
            return rule['action']
    return None


def snapshot_of(pod):
    """What trainit finds in this pod."""
    paths = {path: {'kind': 'file', 'writable': False, 'error': 0, 'size': len(content),
                    'content': content}
             for path, content in pod.files.items() if content is not None}
    hosts = f'127.0.0.1 localhost\n{pod.ip} {pod.host}'
    if pod.domain:
        hosts += f'.{pod.domain}.default.svc.cluster.local {pod.host}'
    paths.setdefault('/etc/hosts', {'kind': 'file', 'writable': False, 'error': 0,
                                    'size': len(hosts), 'content': hosts})
    for directory in PATH.split(':'):  # nothing of the image is known
        for program in ('torchrun', 'python3'):
            paths[f'{directory}/{program}'] = {'kind': 'absent', 'writable': False, 'error': 0,
                                               'size': 0}
    main = pod.main()
    return {
        'argv': main['command'][1:] + main['args'],
        'environ': [f'{name}={value}' for name, value in
                    {'PATH': PATH, **pod.environment()}.items()],
        'facts': {'cwd': '/workspace', 'uid': 1000, 'gid': 100, 'host_name': pod.host,
                  'addresses': [pod.ip], 'cpus': 32, 'cpu_list': '0-31',
                  'run_dir': '/tmp/trainit-1000', 'program': main['command'][0]},
        'paths': paths}


def plan_of(pod):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(snapshot_of(pod), file)
        file.flush()
        done = subprocess.run([TRAINIT, 'plan', '--json', '--snapshot', file.name], text=True,
                              capture_output=True, check=False)
    assert done.returncode == 0, f'{pod.host}: {done.stderr}'
    return json.loads(done.stdout)


class Manifests(unittest.TestCase):
    def test_each_kind_is_there(self):
        self.assertEqual(sorted([*EXPECTED, *OTHERS]), manifests.names())

    def test_have_the_shape_of_their_kind_and_their_wiring(self):
        for name in manifests.names():
            for document in manifests.documents(name):
                with self.subTest(name, kind=document['kind']):
                    self.assertEqual(check.check(document), [])

    def test_are_taken_by_the_program(self):
        for name, (platform, framework, nodes, world, ranks) in EXPECTED.items():
            with self.subTest(name):
                plans = [plan_of(pod) for pod in manifests.pods_of(manifests.workload(name))]
                self.assertEqual({plan['platform'] for plan in plans}, {platform})
                self.assertEqual({plan['framework'] for plan in plans}, {framework})
                self.assertEqual(len(plans), nodes)
                self.assertEqual([plan['self']['node_rank'] for plan in plans][:2],
                                 list(range(min(nodes, 2))))
                if nodes > 1:
                    self.assertEqual(plans[0]['cluster']['world_size'], world)
                for plan in plans:
                    self.assertEqual(plan['policy']['grace_ms'], 58000)
                    self.assertEqual(plan['policy']['hold_ms'], 600000)
                    self.assertEqual(len(plan['processes']), ranks)

    def test_are_alike_where_they_say_the_same(self):
        # Each is whole, to be copied alone: nothing else keeps their common lines the same.
        said = {}
        for name in EXPECTED:
            for _, pod in manifests.templates_of(manifests.workload(name)):
                of_pod, main = pod['securityContext'], pod['containers'][0]
                alike = {'the installer': pod['initContainers'],
                         'the pod': {key: of_pod[key] for key in of_pod
                                     if key not in ('supplementalGroups', 'fsGroup')},
                         'the container': main['securityContext'], 'the start': main['command'],
                         'the probe': main['readinessProbe']}
                for what, value in alike.items():
                    self.assertEqual(said.setdefault(what, value), value, f'{name}: {what}')
                for entry in [*pod['volumes'], *main['volumeMounts']]:
                    if entry['name'] in ('trainit', 'workspace', 'data', 'tmp', 'shm', 'link'):
                        key = (entry['name'], 'mountPath' in entry)
                        self.assertEqual(said.setdefault(key, entry), entry, name)

    def test_have_a_secret_on_the_link_of_several_nodes(self):
        for name, (_, _, nodes, _, _) in EXPECTED.items():
            for where, pod in manifests.templates_of(manifests.workload(name)):
                env = {entry['name']: entry.get('value') for entry in pod['containers'][0]['env']}
                path = env.get('TRAINIT_JOB_SECRET', env.get('TRAINIT_SSH_KEY'))
                self.assertEqual(path is not None, nodes > 1, f'{name}: {where}')
                if 'TRAINIT_JOB_SECRET' not in env:
                    continue
                volumes = {volume['name']: volume for volume in pod['volumes']}
                mount = check.mounts_of(pod['containers'][0])[os.path.dirname(path)]
                self.assertEqual(volumes[mount['name']]['secret']['defaultMode'], 0o440)
                self.assertEqual(pod['securityContext']['fsGroup'],
                                 pod['securityContext']['runAsGroup'])

    def test_name_options_that_exist(self):
        known = set(re.findall(r'TRAINIT_[A-Z_]+', subprocess.run(
            [TRAINIT, 'reference', 'markdown'], capture_output=True, text=True, check=True).stdout))
        for name in [*EXPECTED, 'cache-gc.yaml']:
            for _, pod in manifests.templates_of(manifests.workload(name)):
                named = {entry['name'] for entry in pod['containers'][0]['env']
                         if entry['name'].startswith('TRAINIT_')}
                self.assertLessEqual(named, known, name)

    def test_react_to_exit_codes_as_the_document_says(self):
        with open(os.path.join(manifests.ROOT, 'docs', 'exit-codes.md'), encoding='utf-8') as file:
            block = re.search(r'```yaml\n(podFailurePolicy:.*?)```', file.read(), re.DOTALL)
        policy = yaml.safe_load(block.group(1))['podFailurePolicy']
        self.assertEqual(manifests.workload('job.yaml')['spec']['podFailurePolicy'], policy)
        jobs = manifests.workload('jobset.yaml')['spec']['replicatedJobs']
        self.assertEqual(jobs[0]['template']['spec']['podFailurePolicy'], policy)
        counted = {code: reaction_to(code, policy) for code in [*check.AGAIN, *NEVER, 1, 139]}
        self.assertEqual(counted, {**{code: 'Ignore' for code in (75, 76)},
                                   **{code: 'Count' for code in (69, 70, 1, 139)},
                                   **{code: 'FailJob' for code in NEVER}})
        for name in ('volcano-gpu.yaml', 'volcano-mlu.yaml', 'volcano-ascend.yaml'):
            codes = {rule['exitCode']: rule['action'] for rule in
                     manifests.workload(name)['spec']['policies'] if 'exitCode' in rule}
            self.assertEqual(codes, {**{code: 'RestartJob' for code in check.AGAIN},
                                     **{code: 'AbortJob' for code in NEVER}}, name)


class Policy(unittest.TestCase):
    def pod(self, **main):
        bare = {'apiVersion': 'v1', 'kind': 'Pod',
                'metadata': {'name': 'mine', 'labels': {'trainit': 'inject'}},
                'spec': {'containers': [{'name': 'main', 'image': 'python:3.12', **main},
                                        {'name': 'side', 'image': 'busybox', 'command': ['httpd']}],
                         'volumes': [{'name': 'data', 'emptyDir': {}}],
                         'initContainers': [{'name': 'first', 'image': 'busybox'}]}}
        [by] = manifests.documents('inject-kyverno.yaml')
        return bare, policy.mutated(by, bare)

    def test_injects_into_any_pod_with_the_label(self):
        for main, args in (({'command': ['python3', 'a.py'], 'args': ['--x', '1']},
                            ['python3', 'a.py', '--x', '1']),
                           ({'command': ['sh', '-c', 'exit 3'], 'volumeMounts': [
                               {'name': 'data', 'mountPath': '/data'}]}, ['sh', '-c', 'exit 3'])):
            bare, made = self.pod(**main)
            self.assertEqual(list(check.against(shapes.shape_of(made), made, '')), [])
            spec = made['spec']
            volumes = {volume['name']: volume for volume in spec['volumes']}
            self.assertEqual(list(check.check_injection(spec, volumes)), [])
            self.assertEqual(spec['containers'][0]['args'], args)
            self.assertEqual(spec['containers'][1], bare['spec']['containers'][1])
            self.assertEqual(spec['initContainers'][0], bare['spec']['initContainers'][0])
            self.assertEqual([*volumes], ['data', 'trainit'])

    def test_leaves_others_alone(self):
        bare, made = self.pod(args=['only', 'args'])
        self.assertEqual(made, bare)
        [by] = manifests.documents('inject-kyverno.yaml')
        bare, _ = self.pod(command=['python3'])
        bare['metadata']['labels'] = {'app': 'mine'}
        self.assertEqual(policy.mutated(by, bare), bare)


def broken(change):
    document = copy.deepcopy(manifests.workload('pod.yaml'))
    change(document['spec'], document['spec']['containers'][0], document['spec']['initContainers'][0])
    return '\n'.join(check.check(document))


def without(entries, **wanted):
    entries[:] = [entry for entry in entries
                  if any(entry.get(name) != value for name, value in wanted.items())]


def mount_at(container, path):
    return next(entry for entry in container['volumeMounts'] if entry['mountPath'] == path)


# What a hand may do to a manifest, and what is said about it.
MISTAKES = [
    (lambda pod, main, init: main.update(volumeMount=[]), 'volumeMount: no such field'),
    (lambda pod, main, init: pod.update(terminationGracePeriodSeconds='60'), 'is no int'),
    (lambda pod, main, init: main['env'].append({'name': 'SLOTS', 'value': 8}), '8 is no str'),
    (lambda pod, main, init: main.pop('image'), 'image: missing'),
    (lambda pod, main, init: main.pop('terminationMessagePolicy'), 'says nothing'),
    (lambda pod, main, init: main.pop('readinessProbe'), 'no readiness by trainit status'),
    (lambda pod, main, init: main.update(livenessProbe=main['readinessProbe']), 'debug window'),
    (lambda pod, main, init: pod.update(restartPolicy='never'), 'is none of'),
    (lambda pod, main, init: main['resources']['limits'].update(memory='64 GB'), 'is no quantity'),
    (lambda pod, main, init: pod.update(terminationGracePeriodSeconds=30), 'the pod has 28 s'),
    (lambda pod, main, init: pod.pop('enableServiceLinks'), 'a Service of the namespace sets'),
    (lambda pod, main, init: without(main['env'], name='TRAINIT_HOLD'), 'no debug window'),
    (lambda pod, main, init: without(pod['volumes'], name='cache'), 'volume cache is not there'),
    (lambda pod, main, init: without(main['volumeMounts'], name='cache'), 'mounted nowhere'),
    (lambda pod, main, init: without(main['volumeMounts'], name='trainit'), 'no read-only mount'),
    (lambda pod, main, init: init['volumeMounts'].clear(), 'that it may write at /opt/trainit'),
    (lambda pod, main, init: init.update(args=['/opt']), 'that it may write at /opt'),
    (lambda pod, main, init: init.update(image='busybox'), '0 init containers'),
    (lambda pod, main, init: main.update(command=['/trainit', '--']), 'does not start with'),
    (lambda pod, main, init: mount_at(main, '/data/imagenet').pop('readOnly'), 'could change'),
    (lambda pod, main, init: mount_at(main, '/cache').update(mountPath='/tmp'), 'two volumes'),
    (lambda pod, main, init: without(main['volumeMounts'], name='tmp'), 'no volume at /tmp'),
    (lambda pod, main, init: main['securityContext'].pop('capabilities'), 'keeps privileges'),
    (lambda pod, main, init: pod['securityContext'].update(runAsUser=0), 'runs as root'),
    (lambda pod, main, init: main['resources']['limits'].pop('nvidia.com/gpu'), 'alike'),
    (lambda pod, main, init: pod['volumes'][0].update(emptydir={}), 'emptydir: no such field'),
]


class Checker(unittest.TestCase):
    def test_finds_each_mistake(self):
        for index, (change, said) in enumerate(MISTAKES):
            with self.subTest(index, said=said):
                self.assertIn(said, broken(change))

    def test_knows_what_controllers_refuse(self):
        job = manifests.workload('job.yaml')
        job['spec']['template']['spec']['restartPolicy'] = 'OnFailure'
        self.assertIn('wants restartPolicy Never', '\n'.join(check.check(job)))
        job = manifests.workload('job.yaml')
        job['spec']['podFailurePolicy']['rules'][1]['onExitCodes']['containerName'] = 'main'
        self.assertIn('no container main', '\n'.join(check.check(job)))
        volcano = manifests.workload('volcano-gpu.yaml')
        volcano['spec']['policies'].reverse()
        self.assertIn('hides exit codes', '\n'.join(check.check(volcano)))
        group = manifests.workload('leaderworkerset.yaml')
        both = group['spec']['leaderWorkerTemplate']
        both['workerTemplate']['spec']['restartPolicy'] = 'Never'
        self.assertIn('a StatefulSet restarts Always', '\n'.join(check.check(group)))
        both['workerTemplate']['spec'].pop('restartPolicy')
        both['restartPolicy'] = 'None'
        self.assertIn('one pod alone', '\n'.join(check.check(group)))
        pytorch = manifests.workload('pytorchjob.yaml')
        pytorch['spec']['pytorchReplicaSpecs']['Worker']['template']['spec']['containers'][0][
            'name'] = 'train'
        self.assertIn('named pytorch', '\n'.join(check.check(pytorch)))
        pytorch = manifests.workload('pytorchjob.yaml')
        without(pytorch['spec']['pytorchReplicaSpecs']['Master']['template']['spec']['containers'][0][
            'env'], name='TRAINIT_EXIT_CODES')
        self.assertIn('Master: 69, 70, 75, 76 are final', '\n'.join(check.check(pytorch)))
        pytorch = manifests.workload('pytorchjob.yaml')
        pytorch['spec']['pytorchReplicaSpecs']['Worker']['template']['spec']['containers'][0][
            'env'].append({'name': 'TRAINIT_EXIT_CODES', 'value': '75-76=138,1-70=137,70=1'})
        self.assertEqual('', '\n'.join(check.check(pytorch)))
        pytorch['spec']['pytorchReplicaSpecs']['Worker']['template']['spec']['containers'][0][
            'env'].append({'name': 'TRAINIT_EXIT_CODES', 'value': '75=138,69=1,69=138'})
        self.assertIn('Worker: 69, 70, 76 are final', '\n'.join(check.check(pytorch)))

    def test_a_wrong_option_is_refused_by_the_program(self):
        pod = manifests.pods_of(manifests.workload('job.yaml'))[0]
        pod.main()['env'].append({'name': 'TRAINIT_SLOTS', 'value': 'many'})
        with self.assertRaisesRegex(AssertionError, 'TRAINIT_SLOTS'):
            plan_of(pod)


if __name__ == '__main__':
    TRAINIT = sys.argv.pop(1)
    unittest.main()
