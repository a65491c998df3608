"""The fields of the kinds in images/pods, as their APIs document them.

A shape is a type, ANY, [SHAPE] for a list, Map(SHAPE) for free names, a set of the allowed words, or
a dict of fields; a field that ends in "!" has to be there. Lists of fields are complete, also where
no manifest here uses them; what is below an unused field is ANY.

Sources: Kubernetes' API reference, v1 and batch/v1 of 1.31; volcano-sh/apis batch/v1alpha1/job.go and
bus/v1alpha1; kubeflow/training-operator 1.9 kubeflow.org/v1; kubeflow/mpi-operator 0.6 v2beta1;
kubernetes-sigs/jobset 0.8 v1alpha2; kubernetes-sigs/lws leaderworkerset.x-k8s.io/v1;
kubeflow/trainer 2.x v1alpha1; mindxdl.gitee.com/v1 of MindCluster's ascend-operator; kyverno.io/v1
of Kyverno. The definition of a custom resource asks for what the schema of a Job calls required, also
where the API server would fill it in (the status of a pod's condition).
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
            'valueFrom': {'fieldRef': {'fieldPath!': str, 'apiVersion': str},
                          **any_of('resourceFieldRef configMapKeyRef secretKeyRef')}}
PROBE = {'exec': {'command!': [str]},
         **{name: int for name in ('initialDelaySeconds', 'timeoutSeconds', 'periodSeconds',
                                   'successThreshold', 'failureThreshold',
                                   'terminationGracePeriodSeconds')},
         **any_of('httpGet tcpSocket grpc')}
PORT = {'containerPort!': int, 'name': str, 'protocol': {'TCP', 'UDP', 'SCTP'},
        **any_of('hostIP hostPort')}
MOUNT = {'name!': str, 'mountPath!': str, 'readOnly': bool, 'subPath': str, 'subPathExpr': str,
         'mountPropagation': str, 'recursiveReadOnly': str}
CONTAINER = {
    'name!': str, 'image!': str, 'command': [str], 'args': [str], 'workingDir': str,
    'env': [VARIABLE], 'resources': RESOURCES, 'volumeMounts': [MOUNT], 'securityContext': SECURITY,
    'imagePullPolicy': {'Always', 'IfNotPresent', 'Never'},
    'terminationMessagePolicy': {'File', 'FallbackToLogsOnError'}, 'terminationMessagePath': str,
    'livenessProbe': PROBE, 'readinessProbe': PROBE, 'startupProbe': PROBE, 'ports': [PORT],
    **any_of('envFrom lifecycle restartPolicy stdin stdinOnce tty volumeDevices resizePolicy')}
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
                        'seccompProfile': SECCOMP, 'supplementalGroups': [int],
                        **any_of('fsGroupChangePolicy supplementalGroupsPolicy sysctls '
                                 'seLinuxOptions windowsOptions appArmorProfile')},
    'subdomain': str, 'hostname': str, 'schedulerName': str, 'nodeSelector': Map(str),
    'hostNetwork': bool, 'hostIPC': bool, 'hostPID': bool, 'shareProcessNamespace': bool,
    'activeDeadlineSeconds': int, 'priorityClassName': str, 'runtimeClassName': str,
    'serviceAccountName': str, 'automountServiceAccountToken': bool, 'setHostnameAsFQDN': bool,
    'enableServiceLinks': bool,
    **any_of('affinity tolerations topologySpreadConstraints imagePullSecrets hostAliases dnsPolicy '
             'dnsConfig ephemeralContainers nodeName os overhead '
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
TF_REPLICA = PYTORCH_REPLICA
TF_SPEC = {'tfReplicaSpecs!': {role: TF_REPLICA for role in
                               ('PS', 'Worker', 'Chief', 'Master', 'Evaluator')},
           'runPolicy': RUN_POLICY, 'successPolicy': {'', 'AllWorkers'}, 'enableDynamicWorker': bool}
# Its runPolicy is an older one of Kubeflow's.
ASCEND_SPEC = {'replicaSpecs!': {role: PYTORCH_REPLICA for role in
                                 ('Master', 'Chief', 'Scheduler', 'Worker')},
               'runPolicy': {'cleanPodPolicy': {'All', 'Running', 'None'}, 'backoffLimit': int,
                             'ttlSecondsAfterFinished': int, 'activeDeadlineSeconds': int,
                             'schedulingPolicy': {'minAvailable': int, 'queue': str,
                                                  'priorityClass': str, 'minResources': ANY}},
               'schedulerName': str, 'successPolicy': {'', 'AllWorkers'}}
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
LWS_SPEC = {
    'replicas': int, 'startupPolicy': {'LeaderCreated', 'LeaderReady'},
    'leaderWorkerTemplate!': {
        'size': int, 'leaderTemplate': POD_TEMPLATE, 'workerTemplate!': POD_TEMPLATE,
        'restartPolicy': {'RecreateGroupOnPodRestart', 'RecreateGroupAfterStart', 'Default', 'None'},
        **any_of('subGroupPolicy volumeClaimTemplates persistentVolumeClaimRetentionPolicy')},
    'networkConfig': {'subdomainPolicy!': {'Shared', 'UniquePerReplica'}},
    **any_of('rolloutStrategy')}
SERVICE_SPEC = {'clusterIP': str, 'publishNotReadyAddresses': bool, 'selector': Map(str),
                **any_of('type ports ipFamilies ipFamilyPolicy sessionAffinity clusterIPs')}

TRAINING_RUNTIME_SPEC = {
    'mlPolicy': {'numNodes': int, 'torch': any_of('numProcPerNode envInjection'),
                 **any_of('mpi jax xgboost flux')},
    'podGroupPolicy': ANY, 'template!': {'metadata': ANY, 'spec': JOBSET_SPEC}}
TRAINJOB_SPEC = {
    'runtimeRef!': {'name!': str, 'apiGroup': str,
                    'kind': {'TrainingRuntime', 'ClusterTrainingRuntime'}},
    'trainer': {'image': str, 'command': [str], 'args': [str], 'env': [VARIABLE], 'numNodes': int,
                'numProcPerNode': int, 'resourcesPerNode': RESOURCES},
    'suspend': bool, **any_of('initializer runtimePatches activeDeadlineSeconds managedBy')}
CONFIG_MAP = {'data': Map(str), **any_of('binaryData immutable')}  # beside metadata, without a spec

DAEMON_SET_SPEC = {'selector!': any_of('matchLabels matchExpressions'), 'template!': POD_TEMPLATE,
                   **any_of('updateStrategy minReadySeconds revisionHistoryLimit')}

# Of mutating rules for each element of a list; what is patched is the pod's shape to say.
POLICY_SPEC = {
    'rules!': [{'name!': str, 'match!': {'any': [{'resources': {
        'kinds': [str], 'operations': [{'CREATE', 'UPDATE', 'DELETE', 'CONNECT'}],
        'selector': {'matchLabels': Map(str), 'matchExpressions': ANY}}}], 'all': ANY},
        'mutate!': {'foreach!': [{
            'list!': str, 'patchStrategicMerge!': ANY, 'order': {'Ascending', 'Descending'},
            'preconditions': {'all': [{'key!': str, 'operator!': str, 'value!': ANY}], 'any': ANY},
            **any_of('context patchesJson6902 foreach')}], **any_of('mutateExistingOnPolicyUpdate targets')},
        **any_of('exclude preconditions context skipBackgroundRequests')}],
    **any_of('admission background failurePolicy webhookConfiguration useServerSideApply applyRules')}

KINDS = {
    ('kyverno.io/v1', 'ClusterPolicy'): POLICY_SPEC,
    ('apps/v1', 'DaemonSet'): DAEMON_SET_SPEC,
    ('v1', 'Pod'): POD,
    ('v1', 'Service'): SERVICE_SPEC,
    ('batch/v1', 'Job'): JOB_SPEC,
    ('batch.volcano.sh/v1alpha1', 'Job'): VOLCANO_SPEC,
    ('kubeflow.org/v1', 'PyTorchJob'): PYTORCH_SPEC,
    ('kubeflow.org/v2beta1', 'MPIJob'): MPI_SPEC,
    ('kubeflow.org/v1', 'TFJob'): TF_SPEC,
    ('mindxdl.gitee.com/v1', 'AscendJob'): ASCEND_SPEC,
    ('trainer.kubeflow.org/v1alpha1', 'TrainingRuntime'): TRAINING_RUNTIME_SPEC,
    ('trainer.kubeflow.org/v1alpha1', 'TrainJob'): TRAINJOB_SPEC,
    ('jobset.x-k8s.io/v1alpha2', 'JobSet'): JOBSET_SPEC,
    ('leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet'): LWS_SPEC,
}


def shape_of(document):
    if document['kind'] == 'ConfigMap':
        return {'apiVersion!': {'v1'}, 'kind!': str, 'metadata!': METADATA, **CONFIG_MAP}
    spec = KINDS[(document['apiVersion'], document['kind'])]
    return {'apiVersion!': str, 'kind!': str, 'metadata!': METADATA, 'spec!': spec}
