#!/usr/bin/env bash
# make demo: demo.sh BUILD_DIR. A ModelArts-like job of 8 devices on this machine, from a rank table
# that is not ready yet to the diagnosis of a rank that dies; checks what it shows. Needs no Ascend
# hardware: the training is tests/payload. All of it happens in BUILD_DIR/demo.
set -euo pipefail

build=$(realpath "$1")
work=$build/demo
rm -rf "$work"
mkdir -p "$work"/{bin,config,job,mount,out}
cp "$build/trainit" "$build/tests/payload" "$work/bin/"
trainit=$work/bin/trainit
payload=$work/bin/payload
command=("$payload" report sleep-forever)
victim=5
failures=0

# What ModelArts injects, and where this demo wants its files.
environment=(
  "RANK_TABLE_FILE=$work/config"
  MA_CURRENT_INSTANCE_NAME=demo-0
  MA_VJ_NAME=ma-job-demo
  "MA_JOB_DIR=$work/job"
  "MA_MOUNT_PATH=$work/mount"
  "TRAINIT_RUN_DIR=$work/run"
  "TRAINIT_LOG_DIR=$work/logs"
  "PAYLOAD_OUT=$work/out"
)

title() { printf '\n\033[1m== %s\033[0m\n' "$1"; }

show() { sed 's/^/   /'; }

expect() { # what it is, the condition as a command
  local what=$1
  shift
  if "$@"; then
    echo "   ok: $what"
  else
    echo "   FAILED: $what" >&2
    failures=$((failures + 1))
  fi
}

await_file() { # path: until it is there
  env -u PAYLOAD_OUT timeout 180 "$payload" wait-file "$1" exit 0 || {
    echo "demo: no $1 after 60 s; the job said:" >&2
    cat "$work/job.log" >&2
    exit 1
  }
}

await_log() { # text in the job's output
  local follow=(timeout 180 tail -n +1 -f -s 0.1 "--pid=$$" "$work/job.log")
  grep -qF -m1 -- "$1" < <(exec "${follow[@]}") || {
    echo "demo: the job did not say '$1' within 60 s, but:" >&2
    cat "$work/job.log" >&2
    exit 1
  }
}

completed_table() {
  local i separator=
  printf '{"status":"completed","group_count":"1","group_list":[{"group_name":"demo","device_count":"8",'
  printf '"instance_count":"1","instance_list":[{"pod_name":"demo-0","server_id":"10.0.0.1","devices":['
  for i in 0 1 2 3 4 5 6 7; do
    printf '%s{"device_id":"%d","device_ip":"192.168.%d.10"}' "$separator" "$i" "$i"
    separator=,
  done
  printf ']}]}]}\n'
}

# How this machine can give trainit a PID namespace. Never starts a Docker engine.
choose_mode() {
  local probe=(unshare --pid --fork --mount-proc --mount --kill-child)
  if command -v docker >/dev/null && docker version >/dev/null 2>&1; then
    mode=docker
  elif "${probe[@]}" true 2>/dev/null; then
    mode=unshare
    namespaces=("${probe[@]}")
    enter=(--pid --mount)
  elif "${probe[@]}" --user --map-root-user true 2>/dev/null; then
    mode=unshare
    namespaces=("${probe[@]}" --user --map-root-user)
    enter=(--user --preserve-credentials --pid --mount)
  else
    mode=plain
  fi
}

# Starts the job in the background; its output goes to job.log, its exit code is that of $job.
start_job() {
  local run=("$trainit" -- "${command[@]}")
  case $mode in
    docker)
      container=trainit-demo-$$
      tar -C "$work" -cf - -T /dev/null | docker import - "$container" >/dev/null
      docker run --name "$container" --network=none --user "$(id -u):$(id -g)" -v "$work:$work" \
        -w "$work/job" "${environment[@]/#/--env=}" "$container" "${run[@]}" >"$work/job.log" 2>&1 &
      ;;
    unshare)
      (cd "$work/job" && exec "${namespaces[@]}" env "${environment[@]}" "${run[@]}") \
        >"$work/job.log" 2>&1 &
      ;;
    plain)
      (cd "$work/job" && exec env "${environment[@]}" "${run[@]}") >"$work/job.log" 2>&1 &
      ;;
  esac
  job=$!
}

# Runs a program where the job runs.
inside() {
  case $mode in
    docker) docker exec "$container" "$@" ;;
    unshare)
      nsenter --target "$(tr -d ' ' <"/proc/$job/task/$job/children")" "${enter[@]}" -- \
        env "${environment[@]}" "$@"
      ;;
    plain) env "${environment[@]}" "$@" ;;
  esac
}

clean_up() {
  local code=$?
  if [ "$mode" = docker ]; then
    docker rm -f "$container" >/dev/null 2>&1 || true
    docker rmi "$container" >/dev/null 2>&1 || true
  fi
  if [ -n "${job:-}" ]; then kill "$job" 2>/dev/null || true; fi
  exit "$code"
}

report_of() { # rank: the line that it printed
  if [ "$1" -eq 0 ]; then
    grep -m1 '^rank 0 of ' "$work/job.log"
  else
    grep -m1 "^rank $1 of " "$work/logs/rank-$1.txt"
  fi
}

choose_mode
case $mode in
  docker) where='PID 1 of a container' ;;
  unshare) where='PID 1 of a PID namespace of its own (unshare); no Docker engine answers' ;;
  plain) where='an ordinary process: this machine allows neither Docker nor unshare' ;;
esac

title 'trainit plan: what run would do, with the table that comes a little later'
completed_table >"$work/completed.json"
(cd "$work/job" && env "${environment[@]}" RANK_TABLE_FILE="$work/completed.json" "$trainit" plan \
  --platform=modelarts -- "${command[@]}") | tee "$work/plan.txt" | show
expect 'the plan has 8 ranks' grep -q 'starts 8 ranks' "$work/plan.txt"

title "trainit run: $where"
echo '{"status":"initializing"}' >"$work/config/jobstart_hccl.json"
: >"$work/job.log"
trap clean_up EXIT
start_job
await_log initializing
cp "$work/completed.json" "$work/config/new"
mv "$work/config/new" "$work/config/jobstart_hccl.json"
echo '   the rank table said "initializing", trainit waited; now it is completed'
for rank in 0 1 2 3 4 5 6 7; do
  await_file "$work/out/ready-$rank"
done
show <"$work/job.log"
expect 'trainit waited for the table' grep -q initializing "$work/job.log"

title 'what each rank saw'
for rank in 0 1 2 3 4 5 6 7; do
  report_of "$rank" | show
done
expect 'rank 7 drives device 7 in its own directory' \
  grep -q '^rank 7 of 8: DEVICE_ID=7 .*/device7 ' "$work/logs/rank-7.txt"
if [ "$mode" != plain ]; then
  expect 'the ranks are children of PID 1' grep -q ' ppid=1 ' "$work/logs/rank-7.txt"
fi

title 'trainit status'
inside "$trainit" status | tee "$work/status.txt" | show
expect 'the job is running' grep -q running "$work/status.txt"

title "rank $victim is killed with SIGSEGV"
lines_before=$(wc -l <"$work/job.log")
inside "$payload" kill "$(cat "$work/out/ready-$victim")" SEGV
code=0
wait "$job" || code=$?
job=
tail -n "+$((lines_before + 1))" "$work/job.log" | show
echo "   exit code $code"
expect 'the exit code is 128 + SIGSEGV' [ "$code" -eq 139 ]
expect 'the diagnosis names the rank and the signal' grep -q "rank-$victim .*SIGSEGV" "$work/job.log"

title 'where the logs lie'
echo "   $work/job.log    trainit's own lines, and rank 0's"
echo "   $work/logs/      a log and the environment of each rank:"
(cd "$work/logs" && find . -maxdepth 1 -type f -printf '%P\n' | sort | paste -sd' ' | fold -s -w 88) | sed 's/^/      /'
expect 'each other rank has a log' [ "$(find "$work/logs" -name 'rank-*.txt' | wc -l)" -ge 7 ]
expect 'each rank has its environment' [ "$(find "$work/logs" -name 'rank-*.env' | wc -l)" -eq 8 ]

if [ "$failures" -eq 0 ]; then
  title 'demo: all as expected'
else
  title "demo: $failures checks FAILED"
  exit 1
fi
