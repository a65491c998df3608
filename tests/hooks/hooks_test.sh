#!/usr/bin/env bash
# hooks/ as a specification: hooks_test.sh SOURCE_DIR. Each script runs below dash, bash --posix, and
# busybox sh with busybox's own tools. In a mount and a network namespace of its own, where the
# machine allows these; says SKIPPED for what it does not.
# Names, and scripts for a shell of the test's own, are in single quotes for just that.
# shellcheck disable=SC2016
set -u

hooks=$1/hooks
if [ -z "${HOOKS_TEST_INSIDE:-}" ]; then
  for isolation in 'unshare --mount --net --pid --fork --mount-proc' \
    'unshare --map-root-user --mount --net --pid --fork --mount-proc'; do
    if $isolation true 2>/dev/null; then HOOKS_TEST_INSIDE=private exec $isolation "$0" "$@"; fi
  done
  echo 'SKIPPED: no namespaces here: mounts, limits of the container, and network interfaces'
  HOOKS_TEST_INSIDE=shared exec "$0" "$@"
fi

top=$(mktemp -d)
[ "$HOOKS_TEST_INSIDE" = private ] && ! mount -t tmpfs tmpfs "$top" && exit 1
trap '[ "$HOOKS_TEST_INSIDE" != private ] || umount -R "$top"; rm -rf "$top"' EXIT
failures=0
newline='
'

# --- what a case is made of ---

begin() { # what it shows
  case_name=$1
  dir=$top/case
  rm -rf "$dir"
  mkdir -p "$dir/data/coco" "$dir/ws"
  : >"$dir/env"
}

fail() {
  echo "FAILED: ${shell[*]}: $case_name: $*"
  printf '  said: %s\n' "$said"
  failures=$((failures + 1))
}

# Its output to $said, its exit code to $code, what it exports to $exports.
hook() { # event.d/name NAME=VALUE...
  local path=$hooks/$1
  shift
  said=$(cd "$dir" && env -i PATH="$tools" TRAINIT_ENV="$dir/env" "$@" "${wrapper[@]}" "${shell[@]}" "$path" 2>&1 </dev/null)
  code=$?
  exports=$(cat "$dir/env")
}

exits() { [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"; }
says() { [[ $said == *"$1"* ]] || fail "does not say \"$1\""; }
does_not_say() { [[ $said != *"$1"* ]] || fail "says \"$1\""; }
is_silent() { [ -z "$said" ] || fail 'says something'; }

# --- 10-workspace ---

workspace() { hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/ws" "$@"; }

is_link() { # place below the workspace, target
  local found
  found=$(readlink "$dir/ws/$1" && echo .)
  [ "${found%"$newline".}" = "$2" ] || fail "$1 is no link to $2"
}

holds() { # all that the workspace holds, as find prints it
  local found
  found=$(cd "$dir/ws" && find . -mindepth 1 | LC_ALL=C sort | tr '\n' ' ')
  [ "$found" = "$1" ] || fail "the workspace holds $found instead of $1"
}

workspace_makes_links() {
  begin 'nothing set: nothing done, the workspace itself included'
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/none"
  exits 0
  is_silent
  [ ! -e "$dir/none" ] || fail 'it was made'

  begin 'each variable has its place'
  mkdir -p "$dir"/data/{algorithm,outputs,bert,llama,v1,all,volume,notes}
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/algorithm" TRAINIT_OUTPUTS_DIR="$dir/data/outputs" \
    TRAINIT_DATASET_DIR="$dir/data/coco${newline}favorite/imagenet/v1=$dir/data/v1" \
    TRAINIT_MODEL_DIR="pretrained/bert=$dir/data/bert${newline}favorite=$dir/data/all$newline$dir/data/llama/" \
    TRAINIT_VOLUME_DIR="nas=$dir/data/volume$newline$newline$dir/data/all" \
    TRAINIT_ANNO_DATASET_DIR="notes=$dir/data/notes"
  exits 0
  is_link algorithm "$dir/data/algorithm"
  is_link outputs "$dir/data/outputs"
  is_link dataset/private/coco "$dir/data/coco"
  is_link dataset/favorite/imagenet/v1 "$dir/data/v1"
  is_link model/pretrained/bert "$dir/data/bert"
  is_link model/favorite "$dir/data/all"
  is_link model/private/llama "$dir/data/llama"
  is_link volume/nas "$dir/data/volume"
  is_link volume/all "$dir/data/all"
  is_link anno_dataset/notes "$dir/data/notes"
  says "$dir/ws/algorithm -> $dir/data/algorithm"

  begin 'the workspace is made, its parents too'
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/a/b/" TRAINIT_ALGORITHM_DIR="$dir/data"
  exits 0
  [ "$(readlink "$dir/a/b/algorithm")" = "$dir/data" ] || fail 'no link'

  begin 'outputs that are not there are made, in the workspace itself too'
  workspace TRAINIT_OUTPUTS_DIR="$dir/ws/outputs"
  exits 0
  [[ -d "$dir/ws/outputs" && ! -L "$dir/ws/outputs" ]] || fail 'no directory'
  rmdir "$dir/ws/outputs"
  workspace TRAINIT_OUTPUTS_DIR="$dir/new/outputs"
  exits 0
  [ -d "$dir/ws/outputs/." ] || fail 'no directory behind outputs'

  begin 'runs again at a restart: same links, nothing said, nothing added'
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/coco" TRAINIT_DATASET_DIR="$dir/data/coco"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/coco" TRAINIT_DATASET_DIR="$dir/data/coco/"
  exits 0
  is_silent
  holds './algorithm ./dataset ./dataset/private ./dataset/private/coco '
  [ -z "$(ls "$dir/data/coco")" ] || fail 'a link was put into the data'

  begin 'a workspace that has the data itself needs no link'
  mkdir "$dir/ws/algorithm"
  workspace TRAINIT_ALGORITHM_DIR="$dir/ws/algorithm"
  exits 0
  is_silent
  ln -s ws "$dir/other"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/other" TRAINIT_ALGORITHM_DIR="$dir/ws/algorithm"
  exits 0
  is_silent
  holds './algorithm '
}

workspace_takes_any_name() {
  begin 'blanks, quotes, globs, backslashes and options in names'
  local name
  for name in 'my data' ' lead' 'trail ' "it's" 'a"b' 'c\040d\n' '*' '-rf' '我的数据集' 'a=b' '$HOME' 'x;y'; do
    mkdir -p "$dir/data/$name"
    workspace TRAINIT_DATASET_DIR="private/$name=$dir/data/$name" TRAINIT_ALGORITHM_DIR= \
      TRAINIT_VOLUME_DIR="$dir/data/$name"
    exits 0
    is_link "dataset/private/$name" "$dir/data/$name"
    is_link "volume/$name" "$dir/data/$name"
  done

  begin 'a name that is a glob is that name alone'
  mkdir "$dir/data/*"
  workspace TRAINIT_VOLUME_DIR="$dir/data/*"
  exits 0
  holds './volume ./volume/* '

  begin 'newlines in a path, at its end too'
  mkdir -p "$dir/data/a${newline}b" "$dir/data/a$newline"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/a${newline}b" TRAINIT_OUTPUTS_DIR="$dir/data/a$newline"
  exits 0
  is_link algorithm "$dir/data/a${newline}b"
  is_link outputs "$dir/data/a$newline"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/a${newline}b" TRAINIT_OUTPUTS_DIR="$dir/data/a$newline"
  exits 0
  is_silent
  mkdir "$dir/data/a"
  workspace TRAINIT_OUTPUTS_DIR="$dir/data/a"
  exits 1

  begin 'a newline in a workspace'
  mkdir "$dir/w${newline}s$newline"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/w${newline}s$newline" TRAINIT_DATASET_DIR="$dir/data/coco"
  exits 0
  [ -L "$dir/w${newline}s$newline/dataset/private/coco" ] || fail 'no link'

  begin 'an entry that newlines have cut is refused, the others are done'
  workspace TRAINIT_DATASET_DIR="private/co${newline}co=$dir/data/coco${newline}private/x=$dir/data/coco"
  exits 1
  says '"private/co" is neither /DIR nor KIND/NAME=/DIR'
  says 'there is no '
  is_link dataset/private/x "$dir/data/coco"
}

workspace_replaces_nothing() {
  begin 'a real directory'
  mkdir "$dir/ws/outputs"
  echo precious >"$dir/ws/outputs/model.ckpt"
  workspace TRAINIT_OUTPUTS_DIR="$dir/data/coco"
  exits 1
  says "$dir/ws/outputs exists already and is no link"
  [ -f "$dir/ws/outputs/model.ckpt" ] || fail 'its content is gone'
  holds './outputs ./outputs/model.ckpt '

  begin 'an empty directory'
  mkdir "$dir/ws/outputs"
  workspace TRAINIT_OUTPUTS_DIR="$dir/data/coco"
  exits 1
  holds './outputs '

  begin 'a file'
  echo >"$dir/ws/algorithm"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/coco"
  exits 1
  [ -f "$dir/ws/algorithm" ] || fail 'it is gone'

  begin 'a link that leads elsewhere, or nowhere'
  ln -s "$dir/data" "$dir/ws/algorithm"
  ln -s /nowhere "$dir/ws/outputs"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/coco" TRAINIT_OUTPUTS_DIR="$dir/data/coco"
  exits 1
  says "$dir/ws/algorithm is already a link, to $dir/data: remove it"
  says "$dir/ws/outputs is already a link, to /nowhere: remove it"
  is_link algorithm "$dir/data"
  is_link outputs /nowhere

  begin 'nothing is put behind a link, into the data'
  workspace TRAINIT_DATASET_DIR="private=$dir/data${newline}private/new=$dir/data/coco"
  exits 1
  says 'lies behind the link'
  [ ! -e "$dir/data/new" ] || fail 'a link lies in the data'

  begin 'one that fails does not keep the others'
  mkdir "$dir/ws/algorithm"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data/coco" TRAINIT_VOLUME_DIR="$dir/data/coco"
  exits 1
  is_link volume/coco "$dir/data/coco"
}

workspace_refuses() { # variable value what it says
  begin "refused: $1=$2"
  workspace "$1=$2"
  exits 1
  says "$3"
  holds ''
}

workspace_refuses_nonsense() {
  workspace_refuses TRAINIT_ALGORITHM_DIR data 'is no absolute path: write /DIR'
  workspace_refuses TRAINIT_ALGORITHM_DIR /no/such/directory '/no/such/directory does not exist'
  workspace_refuses TRAINIT_DATASET_DIR coco 'is neither /DIR nor KIND/NAME=/DIR'
  workspace_refuses TRAINIT_DATASET_DIR private/coco=data 'is neither /DIR nor KIND/NAME=/DIR'
  workspace_refuses TRAINIT_VOLUME_DIR coco 'is neither /DIR nor NAME=/DIR'
  workspace_refuses TRAINIT_DATASET_DIR "secret/coco=$top" 'ws/dataset/secret, only dataset/{/private/favorite/}'
  workspace_refuses TRAINIT_DATASET_DIR "private favorite/coco=$top" 'ws/dataset/private favorite, only'
  workspace_refuses TRAINIT_DATASET_DIR "private/../../../coco=$top" 'gives no name below'
  workspace_refuses TRAINIT_VOLUME_DIR "../coco=$top" 'gives no name below'
  workspace_refuses TRAINIT_VOLUME_DIR "..=$top" 'gives no name below'
  workspace_refuses TRAINIT_VOLUME_DIR "./coco=$top" 'gives no name below'
  workspace_refuses TRAINIT_DATASET_DIR "private//coco=$top" 'gives no name below'
  workspace_refuses TRAINIT_VOLUME_DIR "$top/.." 'gives no name below'
  workspace_refuses TRAINIT_VOLUME_DIR / 'gives no name below'

  begin 'a workspace that is no directory of its own'
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE=ws TRAINIT_ALGORITHM_DIR="$dir/data"
  exits 1
  says 'TRAINIT_WORKSPACE is "ws"'
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE=/ TRAINIT_ALGORITHM_DIR="$dir/data"
  exits 1
  [ ! -e /algorithm ] || fail 'a link in the root'
  echo >"$dir/file"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/file" TRAINIT_ALGORITHM_DIR="$dir/data"
  exits 1
  says "the workspace $dir/file cannot be made"
}

workspace_and_the_platform() {
  begin 'the task-training platform mounts it by itself'
  workspace TRAINIT_PLATFORM=vk TRAINIT_ALGORITHM_DIR=/no/such/directory
  exits 0
  is_silent
  holds ''

  [ "$HOOKS_TEST_INSIDE" = private ] || return
  begin 'what is mounted stays, with blanks and newlines in its name too; its target need not exist'
  local name="my data$newline\\x"
  mkdir -p "$dir/ws/algorithm" "$dir/ws/dataset/private/$name"
  mount --bind "$dir/data" "$dir/ws/algorithm"
  mount --bind "$dir/data" "$dir/ws/dataset/private/$name"
  workspace TRAINIT_ALGORITHM_DIR=/no/such/directory TRAINIT_DATASET_DIR="private=/no/such/directory"
  exits 0
  says "$dir/ws/algorithm is mounted here already: TRAINIT_ALGORITHM_DIR (/no/such/directory) is not used"
  says "$dir/ws/dataset/private is mounted here already"
  ln -s ws "$dir/other"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/other" TRAINIT_ALGORITHM_DIR=/no/such/directory
  exits 0
  workspace TRAINIT_DATASET_DIR="private/my=$dir/data/coco"
  exits 0
  is_link dataset/private/my "$dir/data/coco"
  umount "$dir/ws/algorithm" "$dir/ws/dataset/private/$name"
  name="w s$newline\\040x"
  mkdir -p "$dir/$name/volume/a b"
  mount --bind "$dir/data" "$dir/$name/volume/a b"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/$name" TRAINIT_VOLUME_DIR="a b=/no/such/directory"
  exits 0
  says 'volume/a b is mounted here already'
  umount "$dir/$name/volume/a b"

  begin 'nothing is written into a volume that is mounted'
  mkdir "$dir/ws/dataset"
  mount --bind "$dir/data" "$dir/ws/dataset"
  workspace TRAINIT_DATASET_DIR="$dir/data/coco"
  exits 0
  says 'is mounted here already'
  [ ! -e "$dir/data/private" ] || fail 'something was'
  umount "$dir/ws/dataset"

  begin 'a workspace that is mounted as a whole gets its links'
  mount --bind "$dir/data" "$dir/ws"
  workspace TRAINIT_VOLUME_DIR="$dir/data/coco"
  exits 0
  is_link volume/coco "$dir/data/coco"
  umount "$dir/ws"

  begin 'a read-only root: what to do'
  mount --bind "$dir/ws" "$dir/ws"
  mount -o remount,bind,ro "$dir/ws"
  workspace TRAINIT_ALGORITHM_DIR="$dir/data" TRAINIT_DATASET_DIR="$dir/data/coco" TRAINIT_OUTPUTS_DIR="$dir/ws/new/outputs"
  exits 1
  says "$dir/ws/algorithm cannot be made for TRAINIT_ALGORITHM_DIR: give"
  says "$dir/ws/dataset/private/coco cannot be made for TRAINIT_DATASET_DIR: give"
  says 'a read-only root needs a volume there'
  says "TRAINIT_OUTPUTS_DIR=$dir/ws/new/outputs cannot be made"
  hook pre-start.d/10-workspace TRAINIT_WORKSPACE="$dir/ws/deeper" TRAINIT_ALGORITHM_DIR="$dir/data"
  exits 1
  says "the workspace $dir/ws/deeper cannot be made"
  umount "$dir/ws"
}

# --- 20-network-interface ---

network() { # NAME=VALUE...
  : >"$dir/env"
  network_adding "$@"
}
network_adding() { hook pre-start.d/20-network-interface TRAINIT_NODE_COUNT=2 TRAINIT_NETWORK_WAIT=0 "$@"; }

chooses() { # interface
  exits 0
  [ "$exports" = "NCCL_SOCKET_IFNAME==$1${newline}GLOO_SOCKET_IFNAME=$1${newline}HCCL_SOCKET_IFNAME==$1${newline}TP_SOCKET_IFNAME=$1" ] ||
    fail "exports \"$exports\" instead of all four for $1"
  says "$1 is taken, as "
}

chooses_none() { # why
  exits 0
  [ -z "$exports" ] || fail "exports $exports"
  says "no interface chosen, as $1"
}

leads_to() { # host interface
  begin "$1 is reached through $2"
  network TRAINIT_MASTER_ADDR="$1"
  chooses "$2"
}

network_needs_a_job_of_nodes() {
  begin 'one node: nothing to choose'
  hook pre-start.d/20-network-interface TRAINIT_NODE_COUNT=1 TRAINIT_MASTER_ADDR=10.2.0.9
  exits 0
  is_silent
  hook pre-start.d/20-network-interface TRAINIT_MASTER_ADDR=10.2.0.9
  exits 0
  is_silent
  [ -z "$exports" ] || fail "exports $exports"

  begin 'nobody says who the others are'
  network
  chooses_none "the job's hosts are not known"

  begin 'everything set by the user, to nothing even: kept'
  network TRAINIT_MASTER_ADDR=no.such.host NCCL_SOCKET_IFNAME=a GLOO_SOCKET_IFNAME= HCCL_SOCKET_IFNAME=b TP_SOCKET_IFNAME=c
  exits 0
  says 'are set already'
  [ -z "$exports" ] || fail "exports $exports"

  begin 'a master that has no address'
  network TRAINIT_MASTER_ADDR=no.such.host
  chooses_none 'the master no.such.host has no address after 0 s'

  begin 'addresses that are none'
  local address
  for address in 10.2.0.9.1 10.2.0.999 10.2.0.09 10..0.9 fd00::1::2 fd00:2:3 12345::1 fd00:2::xyz 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7::8:9 : 1.2.3.4:5; do
    network TRAINIT_MASTER_ADDR="$address"
    chooses_none ''
    does_not_say /proc
    does_not_say arithmetic
  done

  begin 'an interface that the user names'
  network TRAINIT_NETWORK_INTERFACE=lo TRAINIT_MASTER_ADDR=10.2.0.9
  chooses lo
  begin 'one that is not there'
  network TRAINIT_NETWORK_INTERFACE=eth99 TRAINIT_MASTER_ADDR=10.2.0.9
  exits 1
  says 'TRAINIT_NETWORK_INTERFACE is "eth99", which this node does not have'
  [ -z "$exports" ] || fail "exports $exports"

  begin 'a place for exports that cannot be written'
  network TRAINIT_NETWORK_INTERFACE=lo TRAINIT_ENV=/no/such/file
  [ "$code" -ne 0 ] || fail 'exit code 0'
}

network_set_up() {
  ip link set lo up
  local name
  for name in eth1 eth2 docker0 veth77; do
    ip link add "$name" type veth peer name "p-$name"
    ip link set "p-$name" up
    ip link set "$name" up
  done
  ip addr add 10.1.0.2/24 dev eth1
  ip addr add 10.2.0.2/24 dev eth2
  ip addr add 172.17.0.1/16 dev docker0
  ip addr add 10.77.0.1/24 dev veth77
  ip addr add 10.66.0.1/32 dev lo
  ip addr add fd00:1::2/64 dev eth1 nodad
  ip addr add fd00:2::2/64 dev eth2 nodad
  ip addr add fd00:77::1/64 dev veth77 nodad
  ip route add default via 10.1.0.1
  ip route add default via 10.2.0.1 metric 100
  ip route add 10.1.0.128/25 dev eth2
  ip route add 10.3.0.0/16 dev eth2 metric 20
  ip route add 10.3.0.0/16 dev eth1 metric 10
  ip route add 200.0.0.0/5 dev eth2
  ip route add unreachable 10.99.0.0/16
  ip route add 10.50.0.0/16 dev eth2 table 77
  ip rule add to 10.50.0.0/16 table 77
  ip -6 route add default via fd00:1::1
  ip -6 route add fd00:4000::/18 dev eth2
  ip -6 route add fd00:5::/64 dev eth2 metric 20
  ip -6 route add fd00:5::/64 dev eth1 metric 10
  printf '%s\n' '127.0.0.1 localhost here' '# 10.2.0.7 node-c' '10.2.0.9 node-b.job node-b # the other' \
    'fd00:2::9 node-six' '10.1.0.2 self' >"$top/hosts"
  : >"$top/resolv.conf"
  mount --bind "$top/hosts" /etc/hosts
  mount --bind "$top/resolv.conf" "$(readlink -f /etc/resolv.conf)"
}

network_follows_the_route() {
  leads_to 10.1.0.9 eth1
  leads_to 10.2.0.9 eth2
  leads_to 10.1.0.200 eth2   # the longer prefix
  leads_to 8.8.8.8 eth1      # the default route with the lower metric
  leads_to 10.3.1.1 eth1     # the same for one prefix
  leads_to 203.0.113.7 eth2  # a prefix that ends within a byte, and the sign bit
  leads_to 10.1.0.2 eth1     # our own address: we are the master
  leads_to node-b eth2
  says 'as it leads to the master node-b (10.2.0.9)'
  leads_to self eth1
  leads_to fd00:2::9 eth2
  leads_to '[fd00:2::9]' eth2
  leads_to FD00:0002:0:0::0:9 eth2
  leads_to fd00:1::2 eth1
  leads_to fd00:3::1 eth1
  leads_to fd00:7fff::1 eth2 # a prefix that ends within a digit
  leads_to fd00:8000::1 eth1
  leads_to fd00:5::1 eth1
  leads_to node-six eth2

  begin 'names that are comments in /etc/hosts'
  network TRAINIT_MASTER_ADDR=node-c
  chooses_none 'the master node-c has no address'
  network TRAINIT_MASTER_ADDR=other
  chooses_none 'the master other has no address'

  begin 'no way to the master'
  network TRAINIT_MASTER_ADDR=10.99.1.1
  chooses_none 'no route leads to the master 10.99.1.1'

  begin 'bridges, and the loopback, lead to no peer'
  network TRAINIT_MASTER_ADDR=172.17.0.5
  chooses_none 'the route to the master 172.17.0.5 (172.17.0.5) goes through docker0, which leads to no other node'
  network TRAINIT_MASTER_ADDR=10.77.0.5
  chooses_none 'the route to the master 10.77.0.5 (10.77.0.5) goes through veth77'
  network TRAINIT_MASTER_ADDR=fd00:77::5
  chooses_none 'the route to the master fd00:77::5 (fd00:77::5) goes through veth77'
  network TRAINIT_MASTER_ADDR=fd00:77::1
  chooses_none 'the route to the master fd00:77::1 (fd00:77::1) goes through veth77'
  network TRAINIT_MASTER_ADDR=localhost
  chooses_none 'the master localhost is 127.0.0.1 here'
  network TRAINIT_MASTER_ADDR=127.0.1.1
  chooses_none 'the master 127.0.1.1 is 127.0.1.1 here'
  network TRAINIT_MASTER_ADDR=::1
  chooses_none 'the master ::1 is ::1 here'

  begin 'a master that is our loopback: by the next host that is not'
  network TRAINIT_MASTER_ADDR=localhost TRAINIT_HOSTS=localhost,here,no.such.host,node-b,10.1.0.9
  chooses eth2
  says 'as it leads to host node-b (10.2.0.9)'
  begin 'hosts alone'
  network TRAINIT_HOSTS=node-b,10.1.0.9
  chooses eth2
  begin 'hosts alone, none of which helps'
  network TRAINIT_HOSTS=172.17.0.5
  chooses_none 'the route to host 172.17.0.5'

  begin 'what the user has set stays, and is told'
  network TRAINIT_MASTER_ADDR=10.2.0.9 NCCL_SOCKET_IFNAME=bond0 TP_SOCKET_IFNAME=
  exits 0
  [ "$exports" = "GLOO_SOCKET_IFNAME=eth2${newline}HCCL_SOCKET_IFNAME==eth2" ] || fail "exports $exports"
  says 'sets GLOO_SOCKET_IFNAME HCCL_SOCKET_IFNAME; set already: NCCL_SOCKET_IFNAME TP_SOCKET_IFNAME'

  begin 'other exports stay in the file'
  echo A=b >"$dir/env"
  network_adding TRAINIT_MASTER_ADDR=10.2.0.9
  [[ $exports == "A=b${newline}NCCL_"* ]] || fail "the file holds $exports"
}

network_by_the_ip_command() {
  leads_to 10.50.1.1 eth2 # policy routing
  begin 'an own address on the loopback leads to no peer'
  network TRAINIT_MASTER_ADDR=10.66.0.1
  chooses_none 'the route to the master 10.66.0.1 (10.66.0.1) goes through lo'
}

# A getent that knows the name at the third question of a second run.
network_waits_for_names() {
  begin 'a name that comes up late is waited for'
  cat >"$dir/getent" <<'END'
#!/bin/sh
echo asked >>"${0%/*}/asked"
[ "$(wc -l <"${0%/*}/asked")" -ge 5 ] && [ "$1" = ahosts ] && echo '10.2.0.9   STREAM late'
END
  chmod +x "$dir/getent"
  local usual=$tools
  tools=$dir:$tools
  network TRAINIT_MASTER_ADDR=late TRAINIT_NETWORK_WAIT=1
  chooses eth2
  begin 'no longer than asked, nor is another host'
  printf '#!/bin/sh\necho "$2" >>"${0%%/*}/asked"\nexit 2\n' >"$dir/getent"
  chmod +x "$dir/getent"
  network TRAINIT_MASTER_ADDR=late TRAINIT_HOSTS=late,other TRAINIT_NETWORK_WAIT=1
  chooses_none 'the master late has no address after 1 s'
  [ "$(sort "$dir/asked" | uniq -c | tr -s ' \n' ' ')" = ' 6 late 3 other ' ] || fail "asked $(uniq -c "$dir/asked")"
  begin 'a wait that is no number'
  network TRAINIT_MASTER_ADDR=10.2.0.9 TRAINIT_NETWORK_WAIT=1m
  says 'TRAINIT_NETWORK_WAIT is "1m"'
  chooses eth2
  tools=$usual
}

# --- 30-limits ---

limits() { # soft and hard nofile, then NAME=VALUE...
  wrapper=(/usr/bin/prlimit --nofile="$1" --stack=8388608:8388608)
  shift
  hook pre-start.d/30-limits TRAINIT_NEED_SHM=0 "$@"
  wrapper=()
  exits 0
}

other_trainit() { # NAME=VALUE... arguments: a process that was called so, to $pid
  mkfifo "$dir/up" "$dir/end"
  env -i "${@:1:1}" bash -c 'echo >"$0/up"; read -r _ <"$0/end"' "$dir" "${@:2}" &
  pid=$!
  read -r _ <"$dir/up"
}

end_other_trainit() {
  echo >"$dir/end"
  wait "$pid"
  rm "$dir/up" "$dir/end"
}

limits_are_checked() {
  begin 'what is needed by itself'
  limits 1024:4096
  says 'nofile is 1024 files, but data loaders and connections between many ranks may take 65536: docker run --ulimit nofile=65536 raises it'
  limits 1024:4096 KUBERNETES_SERVICE_HOST=10.0.0.1
  says 'LimitNOFILE= of containerd on the node raises it'
  does_not_say docker

  begin 'a plain command is not told, and several ranks or nodes are'
  wrapper=(/usr/bin/prlimit --nofile=1024:4096)
  if ! compgen -G '/dev/nvidia[0-9]*' && ! compgen -G '/dev/davinci[0-9]*' && [ ! -e /dev/infiniband ]; then
    hook pre-start.d/30-limits
    exits 0
    is_silent
    hook pre-start.d/30-limits TRAINIT_LOCAL_WORLD_SIZE=1 TRAINIT_NODE_COUNT=1
    is_silent
  fi
  hook pre-start.d/30-limits TRAINIT_LOCAL_WORLD_SIZE=2
  says 'nofile is 1024 files'
  hook pre-start.d/30-limits TRAINIT_LOCAL_WORLD_SIZE=1 TRAINIT_NODE_COUNT=2
  says 'nofile is 1024 files'
  wrapper=()

  begin 'a soft limit that trainit may raise'
  limits 1024:4096 TRAINIT_NEED_NOFILE=4096
  says 'may take 4096: trainit --rlimit nofile=4096 raises it, as the hard limit is 4096'

  begin 'enough: silence'
  limits 1024:4096 TRAINIT_NEED_NOFILE=1024
  is_silent
  limits 1024:4096 TRAINIT_NEED_NOFILE=0
  is_silent

  begin 'a need that is no number'
  limits 1024:4096 TRAINIT_NEED_NOFILE=many
  says 'TRAINIT_NEED_NOFILE is "many": a number is needed, or -1 for unlimited; 65536 is taken'

  begin 'the stack'
  limits 1024:4096 TRAINIT_NEED_NOFILE=0 TRAINIT_NEED_STACK=16
  says 'stack is 8388608 bytes, but the deep recursion of compilers may take 16777216: docker run --ulimit stack=16777216'
  limits 1024:4096 TRAINIT_NEED_NOFILE=0 TRAINIT_NEED_STACK=-1
  says 'docker run --ulimit stack=-1'
  limits 1024:4096 TRAINIT_NEED_NOFILE=0 TRAINIT_NEED_STACK=unlimited KUBERNETES_SERVICE_HOST=10.0.0.1
  says LimitSTACK=

  if [ "$(ulimit -Hs)" = unlimited ]; then
    begin 'no limit at all'
    wrapper=(/usr/bin/prlimit --stack=unlimited:unlimited)
    hook pre-start.d/30-limits TRAINIT_NEED_NOFILE=0 TRAINIT_NEED_SHM=0
    is_silent
    wrapper=()
  fi

  begin 'locked memory, on request'
  wrapper=(/usr/bin/prlimit --memlock=65536:65536)
  shm TRAINIT_NEED_SHM=0
  is_silent
  shm TRAINIT_NEED_SHM=0 TRAINIT_NEED_MEMLOCK=1
  says 'memlock is 65536 bytes, but RDMA may take 1048576: docker run --ulimit memlock=1048576'
  shm TRAINIT_NEED_SHM=0 TRAINIT_NEED_MEMLOCK=-1 KUBERNETES_SERVICE_HOST=10.0.0.1
  says 'memlock is 65536 bytes, but RDMA may take -1: securityContext.capabilities.add: [IPC_LOCK]'
  wrapper=()

  begin "what trainit's own option or variable sets needs no warning"
  local set
  for set in '--rlimit nofile=65536' '--rlimit=nofile=65536:65536' '--rlimit RLIMIT_NOFILE=65536'; do
    # shellcheck disable=SC2086 # one or two arguments
    other_trainit A=b $set -- train
    limits 1024:4096 TRAINIT_PID="$pid"
    is_silent
    end_other_trainit
  done
  for set in 'nofile=65536' "stack=8m${newline}nofile=65536"; do
    other_trainit TRAINIT_RLIMIT="$set"
    limits 1024:4096 TRAINIT_PID="$pid"
    is_silent
    end_other_trainit
  done
  other_trainit A=b --rlimit stack=8m -- train my-nofile=3
  limits 1024:4096 TRAINIT_PID="$pid"
  says 'nofile is 1024'
  end_other_trainit
  limits 1024:4096 TRAINIT_PID=999999999
  says 'nofile is 1024'
}

shm() { # NAME=VALUE...
  hook pre-start.d/30-limits TRAINIT_NEED_NOFILE=0 TRAINIT_NEED_STACK=0 "$@"
  exits 0
}

# A /dev of our own in the place of the machine's.
with_devices() { # size of its shm; command...
  mkdir -p "$top/dev"
  mount -t tmpfs -o mode=755 tmpfs "$top/dev" # protected_regular: a sticky one hides null
  : >"$top/dev/null"
  mount --bind /dev/null "$top/dev/null"
  [ "$1" = none ] || mkdir "$top/dev/shm"
  [ "$1" = none ] || mount -t tmpfs -o "size=$1" tmpfs "$top/dev/shm"
  mount --rbind "$top/dev" /dev
  "${@:2}"
  umount -R /dev
  umount -R "$top/dev"
}

shm_is_small() {
  begin "Docker's 64 MiB"
  shm
  says '/dev/shm has 64 MiB: data loaders, NCCL and HCCL may take 1024 and die of a bus error without; docker run --shm-size 1024m (or --ipc=host) gives more'
  shm KUBERNETES_SERVICE_HOST=10.0.0.1
  says 'an emptyDir with medium: Memory on /dev/shm gives more'
  [ -z "$(ls -A /dev/shm)" ] || fail 'left something there'
  shm TRAINIT_NEED_SHM=64
  is_silent
  shm TRAINIT_NEED_SHM=0
  is_silent
  shm TRAINIT_NEED_SHM=1g
  says 'TRAINIT_NEED_SHM is "1g"'
}

shm_is_enough() {
  begin 'enough'
  shm
  is_silent
}

shm_is_used() {
  begin 'enough, but earlier jobs have left something there'
  printf '%02000000d' 0 >/dev/shm/leftover
  shm TRAINIT_NEED_SHM=8
  says '/dev/shm has 6 MiB left of 8, but data loaders, NCCL and HCCL may take 8: remove what earlier jobs left there (ls -l /dev/shm)'
}

shm_is_read_only() {
  begin 'one that cannot be written'
  mount -o remount,bind,ro /dev/shm
  shm
  says '/dev/shm cannot be written to'
}

shm_is_absent() {
  begin 'none'
  shm
  says '/dev/shm cannot be written to'
  says 'docker run --shm-size 1024m'
}

rdma_is_there() {
  mkdir /dev/infiniband
  begin 'RDMA registers memory, unless CAP_IPC_LOCK is there'
  wrapper=(/usr/bin/prlimit --memlock=65536:65536)
  shm TRAINIT_NEED_SHM=0
  is_silent
  wrapper=(/usr/bin/prlimit --memlock=65536:65536 /usr/bin/setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)
  shm TRAINIT_NEED_SHM=0
  says 'memlock is 65536 bytes, but RDMA may take -1: docker run --ulimit memlock=-1 raises it'
  shm TRAINIT_NEED_SHM=0 TRAINIT_NEED_MEMLOCK=0
  is_silent
  wrapper=()
}

# --- 10-collect ---

fake() { # name, script
  printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
  chmod +x "$dir/bin/$1"
}

collect() { hook on-failure.d/10-collect PATH="$dir/bin:$tools" "$@"; }

# What a machine that is well says, whatever this one is.
collect_from_a_healthy_machine() {
  mkdir "$dir/bin"
  fake df 'echo "x 100G 20G 80G 20% $2"'
  fake ps 'echo "  PID  PPID STAT COMM"; echo "    1     0 Ss   trainit"'
  fake dmesg 'echo "dmesg: read kernel buffer failed: Operation not permitted" >&2; exit 1'
  fake grep 'case $* in
    *memory.oom_control* | *memory.events*) echo oom_kill '"${1:-0}"' ;;
    *meminfo*) echo "MemTotal: 1000 kB"; echo "MemAvailable: '"${2:-500}"' kB" ;;
    *) exec /bin/grep "$@" ;;
  esac'
}

collect_tells_what_is_abnormal() {
  begin 'nothing abnormal, nothing said'
  collect_from_a_healthy_machine
  fake nvidia-smi 'echo "0, NVIDIA H100 80GB HBM3, 4, 81559, 0, 31, 0"; echo "1, Tesla T4, 3, 15360, 0, 40, [N/A]"'
  fake npu-smi 'echo "| 0     910B3         | OK            | 93.1        40 |"'
  collect TRAINIT_EXIT_CODE=1
  exits 0
  is_silent

  begin 'the failure, and memory that ran out'
  collect_from_a_healthy_machine 2
  collect TRAINIT_NODE_RANK=1 TRAINIT_NODE_COUNT=4 TRAINIT_EXIT_CODE=137 TRAINIT_RESTART_COUNT=2 \
    TRAINIT_FIRST_FAILURE='rank 3 died of SIGKILL'
  exits 0
  says "node 1 of 4, exit code 137, restart 2: rank 3 died of SIGKILL$newline--- memory$newline"
  says 'oom_kill 2'
  says 'MemAvailable:'
  does_not_say '--- disks'

  begin 'little memory left, without any variable'
  collect_from_a_healthy_machine 0 50
  collect
  exits 0
  says 'no first failure is known'
  says 'MemAvailable: 50 kB'

  begin 'where no job has run there is nothing to look for'
  collect_from_a_healthy_machine 2
  for none in 125 126 127; do
    collect TRAINIT_EXIT_CODE=$none
    exits 0
    is_silent
  done

  begin 'processes that do not end, without arguments, which may hold a password'
  collect_from_a_healthy_machine
  fake ps 'case $* in *args*) exit 1 ;; esac; echo "    1     0 Ss 00:01 9 trainit"; echo "   77     1 D  00:01 9 python"; echo "   78     1 Zs 00:01 0 sh"'
  collect
  says "--- processes that do not end$newline   77     1 D  00:01 9 python$newline   78     1 Zs"
  does_not_say trainit

  begin 'no ps'
  collect_from_a_healthy_machine
  fake ps 'exit 127'
  collect
  exits 0
  does_not_say failed

  begin 'full disks, each once'
  collect_from_a_healthy_machine
  mkdir "$dir/logs"
  fake df 'case $2 in /tmp) echo "x 100G 95G 5G 95% $2" ;; /dev/shm) echo "x 1G 1G 0 100% $2" ;; *) echo "x 100G 94G 6G 94% $2" ;; esac'
  collect TRAINIT_LOG_DIR=/tmp TRAINIT_OUTPUTS_DIR=/no/such/directory
  says '--- disks: size, used, free, used %, at'
  says 'x 100G 95G 5G 95% /tmp'
  says 'x 1G 1G 0 100% /dev/shm'
  does_not_say '94%'
  [ "$(sort <<<"${said##*--- disks}" | uniq -d)" = '' ] || fail 'a disk twice'
}

collect_asks_devices_and_kernel() {
  begin 'GPUs with errors or with memory in use, and what is no row'
  collect_from_a_healthy_machine
  fake nvidia-smi 'echo "0, A, 9000, 80000, 0, 31, 0"; echo "1, A, 4, 80000, 0, 31, 2"; echo "2, A, 4, 80000, 0, 31, 0"; echo "GPU is lost"; exit 15'
  collect
  exits 0
  says "--- nvidia-smi${newline}GPU 0: 9000 of 80000 MiB in use, ECC errors not corrected: 0${newline}GPU 1: 4 of 80000"
  says "GPU is lost${newline}failed: nvidia-smi --query-gpu="
  does_not_say 'GPU 2'

  begin 'NPUs that are not well, or not there'
  collect_from_a_healthy_machine
  fake npu-smi '[ "$1" = info ] && echo "| 0 910B3 | OK |"; echo "| 1 910B3 | Alarm |"'
  collect
  says "--- npu-smi$newline| 1 910B3 | Alarm |"
  does_not_say '| 0 910B3'
  fake npu-smi 'echo npu 0 is lost >&2; exit 3'
  collect
  says "--- npu-smi${newline}npu 0 is lost${newline}failed: npu-smi info"

  begin "the kernel's words about a fault, cut"
  collect_from_a_healthy_machine
  fake dmesg 'i=0; while [ $i -lt 30 ]; do i=$((i + 1)); echo "NVRM: Xid $i"; echo "line $i"; done; printf "segfault %0300d" 1'
  collect
  exits 0
  says "--- kernel log${newline}NVRM: Xid 12$newline"
  does_not_say 'Xid 11'
  does_not_say 'line 30'
  ! grep -qE '.{161}' <<<"$said" || fail 'a long line'

  begin 'a device that does not answer is named, and the rest told'
  collect_from_a_healthy_machine
  fake nvidia-smi 'exec tail -f /dev/null'
  fake npu-smi 'trap "" TERM; exec tail -f /dev/null'
  fake dmesg 'echo "Out of memory: Killed process 7 (python)"'
  collect TRAINIT_COLLECT_SECONDS=1
  exits 0
  says 'no answer within 1 s: nvidia-smi --query-gpu'
  says 'no answer within 1 s: npu-smi info'
  says 'Killed process 7'

  begin 'nothing answers, and it still ends within the 60 seconds of its event'
  collect_from_a_healthy_machine
  fake nvidia-smi :
  fake npu-smi :
  fake timeout "echo \$3 \$2 >>$dir/limits; exit 137"
  collect TRAINIT_COLLECT_SECONDS=x TRAINIT_LOG_DIR="$dir" TRAINIT_OUTPUTS_DIR="$dir"
  exits 0
  says 'no answer within 8 s: npu-smi info'
  worst=$(awk '{ sum += $1 + $2 } END { print sum + 0 }' "$dir/limits")
  ((worst > 0 && worst < 60)) || fail "$worst seconds"

  begin 'a disk that does not answer'
  collect_from_a_healthy_machine
  fake df 'case $2 in /tmp) exec tail -f /dev/null ;; esac; echo "x 1 1 1 99% $2"'
  collect
  says 'no answer within 3 s: df -Ph /tmp'
  says 'x 1 1 1 99% /dev/shm'
}

# --- 10-stacks ---

stacks() { # NAME=VALUE...
  hook stall.d/10-stacks PATH="$dir/bin:$tools" "$@"
}

stacks_tell_where_a_tree_waits() {
  local stalled sleeper
  begin 'the process, those below it, and what they are'
  mkdir "$dir/bin"
  # Longer than any pid: the argument is not to be told, the pids are.
  "${shell[@]}" -c 'sleep 987654321 & trap "kill $!" TERM; echo $!; wait' >"$dir/started" &
  stalled=$!
  until [ -s "$dir/started" ]; do :; done
  sleeper=$(cat "$dir/started")
  until grep -qs '(sleep) S' "/proc/$sleeper/stat"; do :; done
  stacks TRAINIT_STALLED_PID=$stalled TRAINIT_STALLED_RANK=3 TRAINIT_STALLED_FOR_S=600
  exits 0
  says 'rank 3 has made no progress for 600 s'
  says "--- pid $stalled ("
  says '(sleep): State: S (sleeping)'
  says "  thread $stalled ("
  does_not_say 'more threads'
  does_not_say 987654321

  begin "python's own stacks, where there is py-spy"
  mkdir "$dir/bin"
  fake py-spy 'echo "asked: $*"'
  if [ "${shell[-1]}" != sh ] || [[ ${shell[0]} != *busybox ]]; then
    cp "$(readlink -f "$(command -v sleep)")" "$dir/python3.9"
    "$dir/python3.9" 1000 &
    until [[ $(readlink "/proc/$!/exe") == *python* ]]; do :; done
    stacks TRAINIT_STALLED_PID=$!
    exits 0
    says "--- python stacks of pid $!"
    says "asked: dump --nonblocking --pid $!"
    kill $!
    wait $! 2>/dev/null
  fi

  begin 'of a process that is gone or none, nothing'
  mkdir "$dir/bin"
  stacks TRAINIT_STALLED_PID=4194305
  exits 0
  stacks TRAINIT_STALLED_PID='1; reboot'
  exits 0
  says 'names no process'
  kill "$stalled"
  wait "$stalled" 2>/dev/null
}

# --- all of it ---

tools_without() { # command...: a directory of links to everything in $tools but these
  local path
  rm -rf "$top/without"
  mkdir "$top/without"
  for path in ${tools//:/ }; do
    cp -as "$path"/. "$top/without/" 2>/dev/null
  done
  (cd "$top/without" && rm -f "$@")
}

run_all() {
  wrapper=()
  said=
  workspace_makes_links
  workspace_takes_any_name
  workspace_replaces_nothing
  workspace_refuses_nonsense
  workspace_and_the_platform
  network_needs_a_job_of_nodes
  limits_are_checked
  collect_tells_what_is_abnormal
  collect_asks_devices_and_kernel
  stacks_tell_where_a_tree_waits
  [ "$HOOKS_TEST_INSIDE" = private ] || return
  with_devices 64m shm_is_small
  with_devices 1024m shm_is_enough
  with_devices 8m shm_is_used
  with_devices 64m shm_is_read_only
  with_devices none shm_is_absent
  with_devices 2g rdma_is_there
  network_follows_the_route
  network_waits_for_names
  network_by_the_ip_command
  local usual=$tools
  tools_without ip getent
  tools=$top/without
  network_follows_the_route
  tools=$usual
}

case_name='the scripts themselves'
said=
shell=(all)
for script in "$hooks"/*.d/*; do
  [ -x "$script" ] || fail "$script has no run bit"
  [ "$(head -n 1 "$script")" = '#!/bin/sh' ] || fail "$script is no script of sh"
done
if command -v shellcheck >/dev/null; then
  shellcheck -s sh "$hooks"/*.d/* || fail 'shellcheck'
else
  echo 'SKIPPED: no shellcheck'
fi

if [ "$HOOKS_TEST_INSIDE" = private ]; then
  if command -v ip >/dev/null && network_set_up; then
    :
  else
    echo 'SKIPPED: no iproute2, or no veth interfaces'
    network_follows_the_route() { :; }
    network_by_the_ip_command() { :; }
    network_waits_for_names() { :; }
  fi
fi

tools=/usr/sbin:/usr/bin:/sbin:/bin
for shell in dash 'bash --posix'; do
  if ! command -v "${shell%% *}" >/dev/null; then
    echo "SKIPPED: no $shell"
    continue
  fi
  read -ra shell <<<"$shell"
  shell[0]=$(command -v "${shell[0]}")
  run_all
done
if command -v busybox >/dev/null; then
  mkdir "$top/busybox"
  busybox --install -s "$top/busybox"
  tools=$top/busybox
  shell=("$(command -v busybox)" sh)
  run_all
else
  echo 'SKIPPED: no busybox (apt-get install busybox)'
fi

[ "$failures" -eq 0 ] || { echo "hooks_test: $failures FAILED"; exit 1; }
echo 'hooks_test: passed'
