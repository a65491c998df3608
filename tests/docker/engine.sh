#!/usr/bin/env bash
# A Docker engine for the container tests:
#   engine.sh start DIR [DOCKERD_ARGUMENT...]
#   engine.sh stop DIR
# start: an engine that answers is used as it is; else one of our own is started, with everything of
#   its own in private directories and in a network namespace of its own, and with these arguments.
#   Prints the DOCKER_HOST to use and writes it to DIR/host. Without an engine: exit 1 with
#   TRAINIT_DOCKER_MUST_WORK=1, else an empty DIR/host, and the tests skip.
# stop: ends the engine that start started, by its own pid, and removes its directories. From an engine
#   that was there, removes what builds of our Dockerfiles left: while tests run, other builds need it.
set -eu

action=${1:?start or stop}
state_dir=$(realpath -m "${2:?a directory for the state}")
data_dir=$state_dir/data
dockerd_arguments=("${@:3}")
ready_seconds=240  # on a machine that does much else
# TRAINIT_ENGINE_NETWORK=host: in the machine's network, for a build that fetches packages.
own_network=(unshare --net)
if [ "${TRAINIT_ENGINE_NETWORK:-}" = host ]; then own_network=(); fi

no_engine() {
  echo "engine: no Docker engine: $1" >&2
  : >"$state_dir/host"
  if [ "${TRAINIT_DOCKER_MUST_WORK:-0}" = 1 ]; then exit 1; fi
  echo 'engine: THE CONTAINER TESTS ARE SKIPPED (TRAINIT_DOCKER_MUST_WORK=1 makes this a failure)' >&2
  exit 0
}

use() { # host
  echo "$1" | tee "$state_dir/host"
  exit 0
}

# No default bridge and no rules of iptables: the tests use no network, or one that they make, whose
# containers talk to each other alone. The engine has a network namespace of its own: nothing of the
# machine's network changes, and no rule of the machine cuts the bridges of the tests (an engine
# leaves FORWARD dropped even when it has ended). dockerd chooses overlay2 where the file system can
# carry it, and vfs, which copies, where it cannot: on overlayfs inside a container. Images of a GB
# are for the build tree's disk, not for a /tmp in memory.
start_own() { # private directory
  local log=$1/log pid follower
  : >"$log"  # there for tail, however late dockerd's shell comes to it
  "${own_network[@]}" dockerd --host="unix://$1/docker.sock" --data-root="$data_dir" \
    --exec-root="$1/exec" --pidfile="$1/pid" --bridge=none --iptables=false --ip6tables=false \
    --ip-forward=false --ip-masq=false "${dockerd_arguments[@]}" >>"$log" 2>&1 </dev/null &
  pid=$!
  # Ends at the line, at dockerd's death, or in time; never by counting sleeps.
  exec 3< <(exec timeout "$ready_seconds" tail -n +1 -f -s 0.1 --pid="$pid" "$log")
  follower=$!
  grep -qm1 'API listen on' <&3 || true
  kill "$follower" 2>/dev/null || true
  DOCKER_HOST=unix://$1/docker.sock docker version >/dev/null 2>&1
}

start() {
  local dir
  mkdir -p "$state_dir"
  stop
  command -v docker >/dev/null || no_engine 'no docker program'
  if docker version >/dev/null 2>&1; then
    use "${DOCKER_HOST:-unix:///var/run/docker.sock}"
  fi
  command -v dockerd >/dev/null || no_engine 'none answers, and there is no dockerd to start one'
  [ "$(id -u)" -eq 0 ] || no_engine 'none answers, and only root can start one'
  # Under /tmp, because a socket's path is limited to 107 bytes.
  dir=$(mktemp -d /tmp/trainit-engine.XXXXXX)
  echo "$dir" >"$state_dir/private"
  if ! start_own "$dir"; then
    tail -n 20 "$dir/log" >&2
    stop
    no_engine 'dockerd did not start, see above'
  fi
  use "unix://$dir/docker.sock"
}

stop() {
  local dir pid
  if [ ! -e "$state_dir/private" ]; then
    if [ -s "$state_dir/host" ]; then
      DOCKER_HOST=$(cat "$state_dir/host") docker image prune -f --filter label=trainit.stage=build >/dev/null || true
    fi
    return 0
  fi
  dir=$(cat "$state_dir/private")
  if pid=$(cat "$dir/pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
    DOCKER_HOST=unix://$dir/docker.sock docker ps -aq 2>/dev/null |
      DOCKER_HOST=unix://$dir/docker.sock xargs -r docker rm -f >/dev/null 2>&1 || true
    kill "$pid"
    timeout 30 tail -f -s 0.1 --pid="$pid" /dev/null || kill -KILL "$pid"
  fi
  awk -v dir="$dir/" -v data="$data_dir/" 'index($2, dir) == 1 || index($2, data) == 1 { print $2 }' \
    /proc/mounts | sort -r | xargs -r umount -l
  rm -rf --one-file-system "$dir" "$data_dir"
  rm -f "$state_dir/private" "$state_dir/host"
}

case $action in
  start) start ;;
  stop) stop ;;
  *) echo "engine: $action: start or stop" >&2; exit 2 ;;
esac
