#!/usr/bin/python3
"""Pods of images/pods/pod.yaml below a real kubelet, with Docker as its runtime.

kubelet.py TRAINIT KUBELET TAR

TAR is an image's root with Python, and nothing of trainit. The node has processes, mounts, a
network, /run, /var/lib, /var/log and a Docker engine of its own, which are gone with it; what the
kubelet would set in this machine's kernel it finds set. Prints a line for each scene; exits 1 when
one is not as it should be.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", folder) for folder in ("cluster", "pods")]
import containers  # pylint: disable=wrong-import-position
import manifests  # pylint: disable=wrong-import-position
from slurm import await_that, check  # pylint: disable=wrong-import-position

docker = containers.docker

CONFIGURATION = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "staticPodPath": "/run/pods",
    "fileCheckFrequency": "1s",
    "address": "127.0.0.1",
    "readOnlyPort": 10255,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "resolvConf": "",
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "evictionHard": {},
    "imageGCHighThresholdPercent": 100,
    "oomScoreAdj": 0,
    "makeIPTablesUtilChains": False,
    "protectKernelDefaults": True,
}

# What the kubelet wants of the kernel, and would set.
KERNEL = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}

# A machine may refuse a score below its own, which a pod's first container gets.
RUNTIME = """#!/usr/bin/python3
import json, os, sys
if "--bundle" in sys.argv:
    name = os.path.join(sys.argv[sys.argv.index("--bundle") + 1], "config.json")
    with open(name, encoding="utf-8") as file:
        config = json.load(file)
    if config["process"].get("oomScoreAdj", 0) < 0:
        config["process"]["oomScoreAdj"] = 0
        with open(name, "w", encoding="utf-8") as file:
            json.dump(config, file)
os.execvp("runc", ["runc", *sys.argv[1:]])
"""

PAUSE = """FROM {image}
CMD ["sh", "-c", "trap exit TERM; sleep infinity & wait"]
"""

ENDS = (signal.SIGINT, signal.SIGTERM)
VOLUMES = {"workspace": "/run/workspace", "data": "/run/imagenet", "cache": "/var/lib/cache"}
CONTENT = "a thousand pictures\n"

READS = """import os
name = os.environ["TRAINIT_DATASET_IMAGENET"]
print("read", name, open(name + "/set").read())
"""

FAILS = """import sys
print("step 1 loss 2.5", flush=True)
raise ValueError("shard 7 is empty")
"""

# Its save takes some seconds.
SAVES = """import signal, sys, time
def save(*_):
    time.sleep(3)
    open("/cache/saved", "w").write("step 7")
    sys.exit(9)
signal.signal(signal.SIGTERM, save)
print("step 1", flush=True)
while True:
    time.sleep(1)
"""

IGNORES = """import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("step 1", flush=True)
while True:
    time.sleep(1)
"""


def pod_of(name, args=None, env=None, period=None, hook=None):
    """The manifest's pod with this machine's volumes and sizes, and what else is asked for."""
    [pod] = manifests.documents("pod.yaml")
    pod["metadata"]["name"] = name
    spec = pod["spec"]
    spec["hostNetwork"] = True
    spec["terminationGracePeriodSeconds"] = period or spec["terminationGracePeriodSeconds"]
    for container in spec["initContainers"] + spec["containers"]:
        container["imagePullPolicy"] = "Never"
    for volume in spec["volumes"]:
        if volume["name"] in VOLUMES:
            path = VOLUMES[volume["name"]]
            volume.pop("persistentVolumeClaim", None)
            volume["hostPath"] = {"path": path, "type": "Directory"}
    [main] = spec["containers"]
    del main["resources"]
    main["args"] = args or main["args"]
    variables = {entry["name"]: entry["value"] for entry in main["env"]} | (env or {})
    main["env"] = [{"name": key, "value": value} for key, value in variables.items() if value]
    if hook:
        main["lifecycle"] = {"preStop": {"exec": {"command": hook}}}
    return pod


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


class Node:
    """A Docker engine and the kubelet. /run and /var are this node's own."""

    def __init__(self, trainit, kubelet, tar):
        self.programs = []
        write("/run/engine.json", "{}")
        write("/run/runtime", RUNTIME)
        os.chmod("/run/runtime", 0o755)
        write("/run/kubelet.json", json.dumps(CONFIGURATION))
        write("/run/imagenet/set", CONTENT)
        for folder in ("/run/pods", "/run/workspace", "/var/lib/cache"):
            os.mkdir(folder)
        os.chmod("/var/lib/cache", 0o1777)
        # No bridge and no rules: the pods have the node's network, which is lo alone.
        self.start(
            "dockerd --config-file=/run/engine.json --bridge=none --iptables=false"
            " --ip6tables=false --ip-forward=false --ip-masq=false"
            f" --cgroup-parent=/{os.environ['NODE']} --add-runtime=node=/run/runtime"
            " --default-runtime=node".split()
        )
        await_that(lambda: "Server" in docker("version", check=False), lambda: self.said("dockerd"))
        self.images(trainit, tar)
        self.start(
            [
                kubelet,
                "--config=/run/kubelet.json",
                "--hostname-override=node",
                "--pod-infra-container-image=pause:latest",
                "--volume-plugin-dir=/var/lib/plugins",
            ]
        )

    def start(self, argv):
        with open(f"/var/log/{os.path.basename(argv[0])}", "wb") as log:
            self.programs.append(
                subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )

    def images(self, trainit, tar):
        """By the names that the manifest has."""
        [pod] = manifests.documents("pod.yaml")
        base = pod["spec"]["containers"][0]["image"]
        docker("import", tar, base)
        context = "/var/lib/context"
        os.makedirs(f"{context}/build")
        shutil.copy(trainit, f"{context}/build/trainit")
        write(f"{context}/pause", PAUSE.format(image=base))
        installer = os.path.join(HERE, "..", "..", "images", "Dockerfile.installer")
        shutil.copy(installer, f"{context}/installer")
        for name, image in (
            ("pause", "pause:latest"),
            ("installer", pod["spec"]["initContainers"][0]["image"]),
        ):
            docker("build", "--quiet", "-f", f"{context}/{name}", "-t", image, context)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        engine, *kubelets = self.programs
        for kubelet in kubelets:
            kubelet.terminate()
            kubelet.wait()
        # So that no cgroup is left.
        for container in docker("ps", "--all", "--quiet", check=False).split():
            docker("rm", "--force", container, check=False)
        engine.terminate()
        engine.wait()

    @staticmethod
    def said(program):
        with open(f"/var/log/{program}", encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-60:])

    @contextlib.contextmanager
    def pod(self, name, script="", **more):
        """The pod, whose job is this script, or the arguments; removed at the end."""
        write("/run/workspace/train.py", script)
        for left in os.listdir("/var/lib/cache"):
            if os.path.isfile(f"/var/lib/cache/{left}"):
                os.unlink(f"/var/lib/cache/{left}")
        pod = Pod(self, name)
        write("/run/new", json.dumps(pod_of(name, **more)))
        os.rename("/run/new", pod.manifest)
        try:
            yield pod
        finally:
            pod.delete()
            await_that(lambda: not pod.seen(), lambda: self.said("kubelet"))


class Pod:
    """A pod as the kubelet tells of it."""

    def __init__(self, node, name):
        self.node, self.name = node, name
        self.manifest = f"/run/pods/{name}.json"

    def delete(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.manifest)

    def seen(self):
        try:
            with urllib.request.urlopen("http://127.0.0.1:10255/pods", timeout=10) as answer:
                items = json.load(answer)["items"] or []
        except OSError:
            items = []
        return [item for item in items if item["metadata"]["name"] == f"{self.name}-node"]

    def status(self, of="containerStatuses"):
        """Of the only container."""
        seen = self.seen()
        return (seen and seen[0]["status"].get(of) or [{"state": {}}])[0]

    def told(self):
        status = [item["status"] for item in self.seen()]
        return f"{json.dumps(status, indent=1)}\n{self.log()}\n{self.node.said('kubelet')}"

    def await_status(self, holds):
        await_that(lambda: holds(self.status()), self.told)
        return self.status()

    def ended(self):
        """The state of the container when it has ended."""
        return self.await_status(lambda status: "terminated" in status["state"])["state"][
            "terminated"
        ]

    def container(self):
        return self.status().get("containerID", "").removeprefix("docker://")

    def await_line(self, text):
        await_that(lambda: text in self.log(), self.told)

    def log(self):
        return docker("logs", self.container() or "none", check=False)

    def message_file(self):
        """Of ours, as it is for the kubelet."""
        folder = f"/var/lib/kubelet/pods/{self.seen()[0]['metadata']['uid']}/containers/train"
        [name] = os.listdir(folder)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    def deleted(self):
        """Its exit code and its log, which the kubelet removes with it."""
        container, began = self.container(), time.time()
        follow = ["docker", "logs", "--follow", container]
        with subprocess.Popen(
            follow, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as follower:
            self.delete()
            log, _ = follower.communicate(timeout=containers.DEADLINE)
        events = [
            "docker", "events", f"--since={began}", f"--filter=container={container}",
            "--filter=event=die", "--format={{.Actor.Attributes.exitCode}}",
        ]  # fmt: skip
        code = await_that(
            lambda: docker(*events[1:], f"--until={time.time()}").strip(), lambda: log
        )
        return int(code), log


# A variable without a value is left out.
NO_HOLD = {"TRAINIT_HOLD": None}
NOTHING_TO_DO = NO_HOLD | {"TRAINIT_DATA": None, "TRAINIT_DATA_ROOT": None}


def injection_and_data(node):
    with node.pod("data", READS) as pod:
        ended = pod.ended()
        first = pod.status("initContainerStatuses")["state"]["terminated"]
        check((first["exitCode"], ended["exitCode"]) == (0, 0), pod.told())
        check("read /cache/" in pod.log() and CONTENT in pod.log(), pod.told())
    return "an image without trainit starts with it, its data in the node's cache before that"


def a_traceback(node):
    with node.pod("traceback", FAILS, env=NO_HOLD) as pod:
        ended = pod.ended()
        check((ended["exitCode"], ended["reason"]) == (1, "Error"), pod.told())
        cause = "trainit: the cause: ValueError: shard 7 is empty; main exited with code 1"
        check(ended["message"].startswith(cause), pod.told())
    return "the kubelet's message begins with the cause, and what failed"


def from_the_log(node, name, script, env, text):
    with node.pod(name, args=["sh", "-c", script], env=env) as pod:
        ended = pod.ended()
        check(ended["exitCode"] == 3, pod.told())
        check(pod.message_file() == "", pod.message_file())
        last, log = ended["message"].splitlines()[-5:], pod.log().splitlines()
        check(text in ended["message"] and all(line in log for line in last), pod.told())


def the_log_in_its_place(node):
    """Where trainit cannot say more than the exit code does."""
    from_the_log(node, "silent", "exit 3", NO_HOLD, "main exited with code 3")
    from_the_log(node, "plain", "echo no licence; exit 3", NOTHING_TO_DO, "no licence\n")
    return "the termination log stays empty, the kubelet's message is the log's end"


def deletion(node):
    with node.pod("deleted", SAVES) as pod:
        pod.await_line("step 1")
        pod.await_status(lambda status: status["ready"])
        code, log = pod.deleted()
        check(code == 9, f"{code}\n{log}")
        with open("/var/lib/cache/saved", encoding="utf-8") as file:
            check(file.read() == "step 7", log)
    return "ready while it runs; TERM, three seconds of saving, the job's own exit code"


def with_hook(node, grace):
    """Of 20 seconds a hook takes 5."""
    hook = ["sh", "-c", "sleep 5; touch /cache/hook"]
    env = {"TRAINIT_GRACE": grace}
    with node.pod("hook", IGNORES, env=env, period=20, hook=hook) as pod:
        pod.await_line("step 1")
        code, log = pod.deleted()
        check(code == 137 and os.path.exists("/var/lib/cache/hook"), f"{code}\n{log}")
        return log


def a_pre_stop_hook(node):
    log = with_hook(node, "8s")
    check("gets SIGKILL: main" in log and "exit code 137" in log, log)
    log = with_hook(node, "18s")  # the period less two, as if there were no hook
    check("exit code 137" not in log, log)
    return "its time counts: with a grace less it trainit kills and says so; else the kubelet kills"


def hold_and_release(node):
    with node.pod("held", FAILS) as pod:
        pod.await_line("hold")
        pod.await_status(lambda status: "running" in status["state"] and not status["ready"])
        trainit = "/opt/trainit/trainit"
        said = docker("exec", pod.container(), trainit, "status", check=False)
        check("hold" in said, said)
        docker("exec", pod.container(), trainit, "release")
        ended = pod.ended()
        check(ended["exitCode"] == 1 and "shard 7 is empty" in ended["message"], pod.told())
    return "stays after the failure, not ready, until trainit release; then code and message"


SCENES = (
    injection_and_data,
    a_traceback,
    the_log_in_its_place,
    deletion,
    a_pre_stop_hook,
    hold_and_release,
)


def become_node(scratch):
    """Folders and settings of its own, in the namespaces."""
    own = {f"{scratch}/kernel/{name}": f"/proc/sys/{name}" for name in KERNEL}
    for path, value in zip(own, KERNEL.values()):
        write(path, f"{value}\n")
    for folder in ("/run", "/var/lib", "/var/log"):
        os.makedirs(scratch + folder)
        own[scratch + folder] = folder
    for path, seen_as in own.items():
        subprocess.run(["mount", "--bind", path, seen_as], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def inside(scratch, trainit, kubelet, tar):
    """The namespaces' first process."""

    def end(*_):
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)
        sys.exit(143)

    for number in ENDS:
        signal.signal(number, end)
    become_node(scratch)
    wrong = 0
    with Node(trainit, kubelet, tar) as node:
        print(docker("version", "--format=Docker {{.Server.Version}}"), end="", flush=True)
        subprocess.run([kubelet, "--version"], check=True)
        for scene in SCENES:
            try:
                said = scene(node)
            except AssertionError as error:
                wrong += 1
                said = f"WRONG: {error}"
            print(f"kubelet: {scene.__name__}: {said}", flush=True)
    return 1 if wrong else 0


def remove_cgroups(name):
    """Empty ones only: rmdir takes no others."""
    for controller in [".", *os.listdir("/sys/fs/cgroup")]:
        top = f"/sys/fs/cgroup/{controller}/{name}"
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)


def outside(programs):
    # Beside TAR: images are for the build tree's disk.
    scratch = tempfile.mkdtemp(prefix="kubelet.", dir=os.path.dirname(programs[-1]))
    node = f"trainit-kubelet-{os.getpid()}"
    flags = "--mount --pid --net --ipc --uts --fork --kill-child --mount-proc".split()
    own = {key: value for key, value in os.environ.items() if key != "DOCKER_HOST"}
    own |= {"NODE": node, "DOCKER_BUILDKIT": "0"}
    argv = ["unshare", *flags, sys.executable, __file__, "inside", scratch, *programs]
    try:
        with subprocess.Popen(argv, env=own, stdin=subprocess.DEVNULL) as program:

            def pass_on(*_):
                """To the namespace's first process, which cleans up; unshare then ends with it."""
                name = f"/proc/{program.pid}/task/{program.pid}/children"
                with open(name, encoding="ascii") as file:
                    for pid in file.read().split():
                        os.kill(int(pid), signal.SIGTERM)

            for number in ENDS:
                signal.signal(number, pass_on)
            return program.wait()
    finally:
        shutil.rmtree(scratch)
        remove_cgroups(node)


def main():
    if len(sys.argv) == 6 and sys.argv[1] == "inside":
        return inside(*sys.argv[2:])
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    return outside([os.path.abspath(name) for name in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
