#!/usr/bin/python3
"""Runs the pods of a manifest with Docker, as the kubelet would: exercise.py MANIFEST INSTALLER IMAGE WHAT

The init container of image INSTALLER first, then the job's container in IMAGE, each with what the
manifest says: command, arguments, variables, volumes, user, capabilities, read-only root, grace. WHAT:
  end SCRIPT TEXT  the pods run SCRIPT as /workspace/train.py, end with 0 and have said TEXT
  stop COMMAND...  COMMAND instead of the arguments, which ignores TERM and makes /tmp/ready-0 when
                   it is up; then it is stopped. The grace and the pod's are shortened alike
  fail COMMAND...  COMMAND fails: the pod stays for the debug window, until it is released
  message SCRIPT MEMORY COMMAND TEXT...
                   the pods have SCRIPT as /workspace/train.py, at most MEMORY ("" = the machine's),
                   and COMMAND instead of the arguments. The first one fails, and its termination
                   message has each TEXT
  gc               two users have copied datasets to the node's cache, which have not been used for the time
                   to live: the pod removes both, and stops when it is asked to
A node has two ranks here (--slots), whatever devices the manifest asks for.
"""

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import manifests  # noqa: E402

LIMIT_S = 600  # of a step, on a machine that does much else
SLOTS = '2'
SHORT_GRACE_S = 4
UNTIL_KILL_S = 120


def docker(*arguments, check=True):
    done = subprocess.run(['docker', *arguments], capture_output=True, text=True, check=False,
                          timeout=LIMIT_S)
    if check and done.returncode != 0:
        sys.exit(f'docker {" ".join(arguments)}: {done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def with_short_grace(document, seconds):
    """So much less than the manifest's, for the pod and for trainit."""
    for _, pod in manifests.templates_of(document):
        less = pod['terminationGracePeriodSeconds'] - seconds
        pod['terminationGracePeriodSeconds'] = seconds
        for entry in pod['containers'][0]['env']:
            if entry['name'] == 'TRAINIT_GRACE':
                entry['value'] = f'{int(entry["value"].rstrip("s")) - less}s'


def with_slots(document):
    """The same job with fewer ranks."""
    if document['kind'] == 'PyTorchJob':
        document['spec']['nprocPerNode'] = SLOTS
    if document['kind'] == 'MPIJob':
        document['spec']['slotsPerWorker'] = int(SLOTS)
    if 'job' in document:
        document['job']['spec']['trainer']['numProcPerNode'] = int(SLOTS)
    for _, pod in manifests.templates_of(document):
        requests = pod['containers'][0]['resources']['requests']
        requests |= {name: SLOTS for name in requests if name.startswith('huawei.com/')}
        for entry in pod['containers'][0]['env']:
            if entry['name'] in ('SLOTS', 'TRAINIT_SLOTS'):
                entry['value'] = SLOTS
    return document


class Node:
    """The machine's part of the volumes: what claims and host paths hold is there before."""

    def __init__(self, root, script):
        self.root = root
        self.keys = self.directory('keys')
        workspace, data = self.directory('claim-workspace'), self.directory('claim-imagenet')
        if script:
            shutil.copy(script, os.path.join(workspace, 'train.py'))
        with open(os.path.join(data, 'part-0'), 'w', encoding='utf-8') as file:
            file.write('a dataset')
        key = os.path.join(self.keys, 'id_rsa')
        subprocess.run(['ssh-keygen', '-q', '-t', 'ecdsa', '-b', '521', '-m', 'PEM', '-N', '', '-f',
                        key], check=True)
        shutil.copy(key + '.pub', os.path.join(self.keys, 'authorized_keys'))
        os.chmod(key, 0o644)  # a secret's mode outside of /root

    def directory(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o1777)
        return path

    def volume_flags(self, pod, volume, mount):
        path = mount['mountPath']
        read_only = ':ro' if mount.get('readOnly') else ''
        if volume.get('emptyDir', {}).get('medium') == 'Memory':
            return ['--tmpfs', f'{path}:mode=1777,size=64m']
        if 'emptyDir' in volume:
            place = self.directory(f'{pod.host}-{volume["name"]}')
        elif 'secret' in volume:
            place = self.secret(volume['secret']['secretName'])
        elif 'configMap' in volume:
            place = self.directory('config-' + volume['configMap']['name'])
        elif volume.get('hostPath', {}).get('type') == 'File':
            place = os.path.join(self.directory('host-files'), volume['name'])
            with open(place, 'w', encoding='utf-8'):
                os.chmod(place, 0o755)
        elif 'hostPath' in volume:
            place = self.directory('host' + volume['hostPath']['path'].replace('/', '-'))
        else:
            place = self.directory('claim-' + volume['persistentVolumeClaim']['claimName'])
        return ['--volume', f'{place}:{path}{read_only}']

    def secret(self, name):
        """As a Secret with fsGroup 100 and the mode 0440."""
        place = self.directory('secret-' + name)
        path = os.path.join(place, 'secret')
        if not os.path.exists(path):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(uuid.uuid4().hex)
            os.chown(path, 0, 100)
            os.chmod(path, 0o440)
        return place

    def file_flags(self, pod):
        flags = []
        for path, content in pod.files.items():
            if path == manifests.RANK_TABLE:
                continue  # in its ConfigMap
            place = self.keys
            if content is not None:
                place = os.path.join(self.directory(f'{pod.host}-files'), os.path.basename(path))
                with open(place, 'w', encoding='utf-8') as file:
                    file.write(content)
            flags += ['--volume', f'{place}:{path.rstrip("/")}:ro']
        return flags


class Job:
    def __init__(self, manifest, installer, image, what, script=''):
        document = with_slots(manifests.workload(manifest))
        if what == 'stop':
            with_short_grace(document, SHORT_GRACE_S)
        self.pods = manifests.pods_of(document)
        self.installer = installer
        self.image = image
        self.name = f'pods-{uuid.uuid4().hex[:8]}'
        self.node = Node(tempfile.mkdtemp(prefix='trainit-pods.'), script)

        self.config_maps = [document for document in manifests.documents(manifest)
                            if document['kind'] == 'ConfigMap']

    def __enter__(self):
        subnet = self.make_network()
        for index, pod in enumerate(self.pods):
            pod.ip = f'{subnet}.{10 + index}'
        for config_map in self.config_maps:
            for name, content in config_map['data'].items():
                self.write_config(config_map, name, content)
        return self

    def make_network(self):
        """Addresses have to be known before the start where a rank table names them."""
        said = ''
        for _ in range(20):  # others have networks too
            subnet = f'10.{random.randrange(64, 250)}.{random.randrange(250)}'
            said = docker('network', 'create', '--internal', f'--subnet={subnet}.0/24', self.name,
                          check=False)
            if 'overlap' not in said:
                return subnet
        sys.exit(said)

    def write_config(self, config_map, name, content):
        path = os.path.join(self.node.directory('config-' + config_map['metadata']['name']), name)
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(content)
        os.rename(path + '.new', path)

    def complete_rank_table(self):
        """What the operator does when all pods have their devices."""
        for config_map in self.config_maps:
            for pod in self.pods:
                self.await_line(pod, 'waiting for ' + manifests.RANK_TABLE)
            self.write_config(config_map, os.path.basename(manifests.RANK_TABLE),
                              manifests.rank_table(self.pods))

    def __exit__(self, *_):
        with contextlib.suppress(SystemExit):
            docker('rm', '--force', *(self.container(pod) for pod in self.pods), check=False)
            docker('network', 'rm', self.name)
        shutil.rmtree(self.node.root, ignore_errors=True)

    def container(self, pod):
        return f'{self.name}-{pod.host}'

    def flags_of(self, pod, container):
        of_pod, own = pod.spec['securityContext'], container['securityContext']
        flags = [f'--user={of_pod["runAsUser"]}:{of_pod["runAsGroup"]}',
                 f'--hostname={pod.host}']
        flags += [f'--group-add={group}' for group in of_pod.get('supplementalGroups', [])]
        flags += ['--read-only'] if own['readOnlyRootFilesystem'] else []
        flags += ['--security-opt=no-new-privileges'] if not own['allowPrivilegeEscalation'] else []
        flags += [f'--cap-drop={name}' for name in own['capabilities']['drop']]
        flags += [f'--cap-add={name}' for name in own['capabilities'].get('add', [])]
        if 'workingDir' in container:
            flags.append(f'--workdir={container["workingDir"]}')
        volumes = {volume['name']: volume for volume in pod.spec['volumes']}
        for mount in container['volumeMounts']:
            flags += self.node.volume_flags(pod, volumes[mount['name']], mount)
        return flags

    def install(self, pod):
        for container in pod.spec['initContainers']:
            said = docker('run', '--rm', '--network=none', *self.flags_of(pod, container),
                          self.installer, *container['args'])
            print(f'{pod.host}: {said.strip()}')

    def start(self, pod, arguments=None, more_flags=(), more_env=None):
        """The job's container; `arguments` in the place of the manifest's."""
        main = pod.main()
        names = [pod.host] + [f'{pod.host}.{pod.domain}'] * bool(pod.domain)
        flags = self.flags_of(pod, main) + self.node.file_flags(pod)
        flags += [f'--network-alias={name}' for name in names]
        flags += more_flags
        for name, value in {**pod.environment(), 'PAYLOAD_OUT': '/tmp', **(more_env or {})}.items():
            flags += ['--env', f'{name}={value}']
        message = os.path.join(self.node.directory(f'{pod.host}-message'), 'log')
        with open(message, 'w', encoding='utf-8'):
            os.chmod(message, 0o666)
        flags += ['--volume', f'{message}:/dev/termination-log']
        docker('run', '--detach', f'--name={self.container(pod)}', f'--network={self.name}',
               f'--ip={pod.ip}', f'--entrypoint={main["command"][0]}', *flags, self.image, *main['command'][1:],
               *(arguments or main['args']))

    def message_of(self, pod):
        """As the kubelet makes it of a container that has failed."""
        with open(os.path.join(self.node.root, f'{pod.host}-message', 'log'),
                  encoding='utf-8') as file:
            message = file.read()
        if message or pod.main().get('terminationMessagePolicy') != 'FallbackToLogsOnError':
            return message
        return '\n'.join(self.logs(pod).splitlines()[-80:])[-2048:]

    def wait(self, pod):
        try:
            return int(docker('wait', self.container(pod)))
        except subprocess.TimeoutExpired:
            sys.exit(f'{pod.host} has not ended within {LIMIT_S} s\n'
                     + '\n'.join(self.logs(each) for each in self.pods))

    def logs(self, pod):
        return docker('logs', self.container(pod))

    def await_file(self, pod, volume, name):
        path = os.path.join(self.node.root, f'{pod.host}-{volume}', name)
        deadline = time.monotonic() + LIMIT_S
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                sys.exit(f'{pod.host} made no {name}:\n{self.logs(pod)}')
            time.sleep(0.05)

    def await_line(self, pod, text):
        follow = ['timeout', str(LIMIT_S), 'docker', 'logs', '--follow', self.container(pod)]
        with subprocess.Popen(follow, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as follower:
            for line in follower.stdout:
                if text in line:
                    follower.terminate()
                    return
        sys.exit(f'{pod.host} ended, or time did, without {text!r}:\n{self.logs(pod)}')

    def expect_ready(self, pod, code):
        probe = pod.main()['readinessProbe']['exec']['command']
        done = subprocess.run(['docker', 'exec', self.container(pod), *probe], capture_output=True,
                              text=True, check=False, timeout=LIMIT_S)
        self.expect(pod, f'the readiness probe ({done.stdout}{done.stderr})', done.returncode, code)

    def expect(self, pod, name, value, wanted):
        if value != wanted:
            sys.exit(f'{pod.host}: {name} is {value!r}, not {wanted!r}\n'
                     + '\n'.join(self.logs(each) for each in self.pods))


def end(job, text):
    for pod in reversed(job.pods):
        job.install(pod)
    # The workers first: a name that the engine does not know yet costs a launcher seconds.
    for pod in reversed(job.pods):
        job.start(pod)
    job.complete_rank_table()
    for pod in job.pods:
        job.expect(pod, 'the exit code', job.wait(pod), 0)
    said = ''.join(job.logs(pod) for pod in job.pods)
    job.expect(job.pods[0], 'the output', bool(re.search(text, said)), True)
    for pod in job.pods:
        env = pod.environment()
        if 'TRAINIT_DATA' in env:
            job.expect(pod, 'the dataset', 'imagenet' in job.logs(pod), True)
    print(said)


def stop(job, *command):
    """trainit kills the job and ends with its own last words, before the kubelet would kill both."""
    pod = job.pods[0]
    job.install(pod)
    job.start(pod, command)
    job.await_file(pod, 'tmp', 'ready-0')
    job.expect_ready(pod, 0)
    # On a machine that does much else, the two seconds between the graces are none.
    docker('stop', f'--time={UNTIL_KILL_S}', job.container(pod))
    job.expect(pod, 'the exit code', job.wait(pod), 137)
    job.expect(pod, 'its last words', 'exit code 137' in job.logs(pod), True)


def fail(job, *command):
    pod = job.pods[0]
    job.install(pod)
    job.start(pod, command)
    job.await_line(pod, 'hold')
    job.expect_ready(pod, 1)
    trainit = pod.main()['command'][0]
    job.expect(pod, 'the state', 'hold' in docker('exec', job.container(pod), trainit, 'status',
                                                  check=False), True)
    docker('exec', job.container(pod), trainit, 'release')
    job.expect(pod, 'the exit code', job.wait(pod), 7)
    job.expect(pod, 'the termination message', 'exited with code 7' in job.message_of(pod), True)


def message(job, memory, command, *texts):
    limit = [f'--memory={memory}', f'--memory-swap={memory}'] if memory else []
    for pod in reversed(job.pods):
        job.install(pod)
    # The first one first: the others look its name up, and one that fails does not wait for it.
    for pod in job.pods:
        job.start(pod, command.split(), limit, {'TRAINIT_HOLD': '0s'})
    pod = job.pods[0]
    job.expect(pod, 'that it failed', job.wait(pod) != 0, True)
    said = job.message_of(pod)
    print(said)
    for text in texts:
        job.expect(pod, f'{text!r} in the termination message\n{said}', text in said, True)


def gc(job):
    [pod] = job.pods
    job.install(pod)
    mounts = [f'--volume={job.node.root}/{pod.host}-trainit:/opt/trainit:ro',
              f'--volume={job.node.directory("host-var-cache-trainit")}:/cache',
              f'--volume={job.node.directory("claim-imagenet")}:/data/imagenet:ro']
    for user in ('1000:100', '1001:100'):
        docker('run', '--rm', '--network=none', f'--user={user}', *mounts, '--env=HOME=/tmp',
               '--env=TRAINIT_RUN_DIR=/tmp/run', '--entrypoint=/opt/trainit/trainit', job.image,
               '--data', '/data/imagenet', '--data-root', '/cache', '--', 'true')
    job.start(pod, [word.replace('--cache-ttl 7d', '--cache-ttl 0s') for word in pod.main()['args']])
    job.await_line(pod, ' free')  # the last line of a round
    job.expect_ready(pod, 0)
    left = docker('exec', job.container(pod), pod.main()['command'][0], 'cache', 'ls', '--json')
    job.expect(pod, f'what is left ({left})', 'imagenet' in left, False)
    docker('stop', f'--time={pod.spec["terminationGracePeriodSeconds"]}', job.container(pod))
    job.expect(pod, 'the exit code', job.wait(pod), 143)
    print(job.logs(pod))


def main():
    manifest, installer, image, what, *rest = sys.argv[1:]
    script = rest.pop(0) if what in ('end', 'message') else ''
    with Job(manifest, installer, image, what, script) as job:
        {'end': end, 'stop': stop, 'fail': fail, 'message': message, 'gc': gc}[what](job, *rest)


main()
