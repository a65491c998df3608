"""The fields of the kinds in images/pods, as their APIs document them.

A shape is a type, ANY, [SHAPE] for a list, Map(SHAPE) for free names, a set of the allowed words, or
a dict of fields; a field that ends in "!" has to be there. Lists of fields are complete, also where
no manifest here uses them; what is below an unused field is ANY.

Sources: Kubernetes' API reference, v1 and batch/v1 of 1.31; volcano-sh/apis batch/v1alpha1/job.go and
bus/v1alpha1; kubeflow/training-operator 1.9 kubeflow.org/v1; kubeflow/mpi-operator 0.6 v2beta1;
kubernetes-sigs/jobset 0.8 v1alpha2. The definition of a custom resource asks for what the schema of
a Job calls required, also where the API server would fill it in (the status of a pod's condition).
"""

ANY = object()


class Map:
    def __init__(self, shape):
        self.shape = shape


class Quantity:
    """A number, or text such as 64Gi or 500m."""


def any_of(names):
    return {name: ANY for name in names.split()}


METADATA_FIELDS = {'namespace': str, 'labels': Map(str), 'annotations': Map(str),
                   **any_of('generateName finalizers ownerReferences')}
METADATA = {'name!': str, **METADATA_FIELDS}
RESOURCES = {'requests': Map(Quantity), 'limits': Map(Quantity), 'claims': ANY}
SECCOMP = {'type!': {'RuntimeDefault', 'Unconfined', 'Localhost'}, 'localhostProfile': str}
SECURITY = {'allowPrivilegeEscalation': bool, 'readOnlyRootFilesystem': bool, 'runAsUser': int,
            'runAsGroup': int, 'runAsNonRoot': bool, 'privileged': bool, 'seccompProfile': SECCOMP,
            'capabilities': {'add': [str], 'drop': [str]},
            **any_of('procMount seLinuxOptions windowsOptions appArmorProfile')}
VARIABLE = {'name!': str, 'value': str,
            'valueFrom': any_of('fieldRef resourceFieldRef configMapKeyRef secretKeyRef')}
MOUNT = {'name!': str, 'mountPath!': str, 'readOnly': bool, 'subPath': str, 'subPathExpr': str,
         'mountPropagation': str, 'recursiveReadOnly': str}
CONTAINER = {
    'name!': str, 'image!': str, 'command': [str], 'args': [str], 'workingDir': str,
    'env': [VARIABLE], 'resources': RESOURCES, 'volumeMounts': [MOUNT], 'securityContext': SECURITY,
    'imagePullPolicy': {'Always', 'IfNotPresent', 'Never'},
    'terminationMessagePolicy': {'File', 'FallbackToLogsOnError'}, 'terminationMessagePath': str,
    **any_of('envFrom ports livenessProbe readinessProbe startupProbe lifecycle restartPolicy stdin '
             'stdinOnce tty volumeDevices resizePolicy')}
VOLUME = {
    'name!': str, 'emptyDir': {'medium': {'', 'Memory'}, 'sizeLimit': Quantity},
    'hostPath': {'path!': str, 'type': {'', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File',
                                        'Socket', 'CharDevice', 'BlockDevice'}},
    'persistentVolumeClaim': {'claimName!': str, 'readOnly': bool},
    'secret': {'secretName': str, 'defaultMode': int, 'items': ANY, 'optional': bool},
    'configMap': {'name': str, 'defaultMode': int, 'items': ANY, 'optional': bool},
    **any_of('projected downwardAPI nfs csi ephemeral image')}
POD = {
    'containers!': [CONTAINER], 'initContainers': [CONTAINER], 'volumes': [VOLUME],
    'restartPolicy': {'Always', 'OnFailure', 'Never'}, 'terminationGracePeriodSeconds': int,
    'securityContext': {'runAsUser': int, 'runAsGroup': int, 'runAsNonRoot': bool, 'fsGroup': int,
                        'seccompProfile': SECCOMP,
                        **any_of('fsGroupChangePolicy supplementalGroups supplementalGroupsPolicy '
                                 'sysctls seLinuxOptions windowsOptions appArmorProfile')},
    'subdomain': str, 'hostname': str, 'schedulerName': str, 'nodeSelector': Map(str),
    'hostNetwork': bool, 'hostIPC': bool, 'hostPID': bool, 'shareProcessNamespace': bool,
    'activeDeadlineSeconds': int, 'priorityClassName': str, 'runtimeClassName': str,
    'serviceAccountName': str, 'automountServiceAccountToken': bool, 'setHostnameAsFQDN': bool,
    **any_of('affinity tolerations topologySpreadConstraints imagePullSecrets hostAliases dnsPolicy '
             'dnsConfig enableServiceLinks ephemeralContainers nodeName os overhead '
             'preemptionPolicy priority readinessGates resourceClaims schedulingGates hostUsers')}
POD_TEMPLATE = {'metadata': {**METADATA_FIELDS, 'name': str}, 'spec!': POD}

JOB_SPEC = {
    'template!': POD_TEMPLATE, 'completionMode': {'NonIndexed', 'Indexed'}, 'completions': int,
    'parallelism': int, 'backoffLimit': int, 'backoffLimitPerIndex': int, 'maxFailedIndexes': int,
    'activeDeadlineSeconds': int, 'ttlSecondsAfterFinished': int, 'suspend': bool,
    'podReplacementPolicy': {'TerminatingOrFailed', 'Failed'},
    'podFailurePolicy': {'rules!': [{
        'action!': {'FailJob', 'FailIndex', 'Ignore', 'Count'},
        'onExitCodes': {'containerName': str, 'operator!': {'In', 'NotIn'}, 'values!': [int]},
        'onPodConditions': [{'type!': str, 'status!': str}]}]},
    **any_of('selector manualSelector managedBy successPolicy')}

VOLCANO_POLICY = {
    'action!': {'AbortJob', 'RestartJob', 'RestartTask', 'RestartPod', 'TerminateJob',
                'CompleteJob', 'ResumeJob'},
    'event': {'*', 'PodFailed', 'PodEvicted', 'PodPending', 'PodRunning', 'Unknown', 'TaskCompleted',
              'TaskFailed', 'OutOfSync', 'CommandIssued'},
    'events': [str], 'exitCode': int, 'timeout': str}
VOLCANO_SPEC = {
    'schedulerName': str, 'minAvailable': int, 'volumes': ANY, 'policies': [VOLCANO_POLICY],
    'tasks!': [{'name!': str, 'replicas': int, 'minAvailable': int, 'template!': POD_TEMPLATE,
                'policies': [VOLCANO_POLICY], 'topologyPolicy': str, 'maxRetry': int,
                'dependsOn': ANY, 'partitionPolicy': ANY}],
    'plugins': Map([str]), 'runningEstimate': str, 'queue': str, 'maxRetry': int,
    'ttlSecondsAfterFinished': int, 'priorityClassName': str, 'minSuccess': int,
    'networkTopology': ANY}

RUN_POLICY = {'cleanPodPolicy': {'All', 'Running', 'None'}, 'ttlSecondsAfterFinished': int,
              'activeDeadlineSeconds': int, 'backoffLimit': int, 'schedulingPolicy': ANY,
              'suspend': bool, 'managedBy': str}


def replicas(policies):
    return {'replicas': int, 'template!': POD_TEMPLATE, 'restartPolicy': policies}


PYTORCH_REPLICA = replicas({'Always', 'OnFailure', 'Never', 'ExitCode'})
PYTORCH_SPEC = {'pytorchReplicaSpecs!': {'Master': PYTORCH_REPLICA, 'Worker': PYTORCH_REPLICA},
                'runPolicy': RUN_POLICY, 'nprocPerNode': str, 'elasticPolicy': ANY}
MPI_REPLICA = replicas({'OnFailure', 'Never'})
MPI_SPEC = {'mpiReplicaSpecs!': {'Launcher!': MPI_REPLICA, 'Worker': MPI_REPLICA},
            'slotsPerWorker': int, 'sshAuthMountPath': str, 'runPolicy': RUN_POLICY,
            'mpiImplementation': {'OpenMPI', 'Intel', 'MPICH'}, 'runLauncherAsWorker': bool,
            'launcherCreationPolicy': {'AtStartup', 'WaitForWorkersReady'}}
JOBSET_SPEC = {
    'replicatedJobs!': [{'name!': str, 'groupName': str, 'replicas': int, 'dependsOn': ANY,
                         'template!': {'metadata': ANY, 'spec!': JOB_SPEC}}],
    'network': {'enableDNSHostnames': bool, 'subdomain': str, 'publishNotReadyAddresses': bool},
    'failurePolicy': {
        'maxRestarts': int, 'restartStrategy': {'Recreate', 'BlockingRecreate', 'InPlaceRestart'},
        'rules': [{'name!': str,
                   'action!': {'FailJobSet', 'RestartJobSet', 'RestartJobSetAndIgnoreMaxRestarts',
                               'RestartJob', 'RestartJobAndIgnoreMaxRestarts'},
                   'onJobFailureReasons': [{'BackoffLimitExceeded', 'DeadlineExceeded',
                                            'FailedIndexes', 'MaxFailedIndexesExceeded',
                                            'PodFailurePolicy'}],
                   'onJobFailureMessagePatterns': [str], 'targetReplicatedJobs': [str]}]},
    **any_of('successPolicy startupPolicy suspend coordinator managedBy ttlSecondsAfterFinished '
             'volumeClaimPolicies')}
SERVICE_SPEC = {'clusterIP': str, 'publishNotReadyAddresses': bool, 'selector': Map(str),
                **any_of('type ports ipFamilies ipFamilyPolicy sessionAffinity clusterIPs')}

KINDS = {
    ('v1', 'Pod'): POD,
    ('v1', 'Service'): SERVICE_SPEC,
    ('batch/v1', 'Job'): JOB_SPEC,
    ('batch.volcano.sh/v1alpha1', 'Job'): VOLCANO_SPEC,
    ('kubeflow.org/v1', 'PyTorchJob'): PYTORCH_SPEC,
    ('kubeflow.org/v2beta1', 'MPIJob'): MPI_SPEC,
    ('jobset.x-k8s.io/v1alpha2', 'JobSet'): JOBSET_SPEC,
}


def shape_of(document):
    spec = KINDS[(document['apiVersion'], document['kind'])]
    return {'apiVersion!': str, 'kind!': str, 'metadata!': METADATA, 'spec!': spec}
