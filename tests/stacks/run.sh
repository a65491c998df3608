#!/usr/bin/env bash
# Today's frameworks, launchers and engines, each for real: run.sh BUILD [NAME...]
# NAME: pytorch-trixie, pytorch-sid, mpi-trixie, mpi-sid (Open MPI and MPICH), slurm, gvisor,
# kubelet; without one all of them, in about an hour. Images and programs are made once, below
# BUILD/tests/stacks. Exits 1 when a stack is not as it should be.
set -eu

build=$(realpath "${1:?a build directory}")
shift
[ $# -gt 0 ] || set -- pytorch-trixie pytorch-sid mpi-trixie mpi-sid slurm gvisor kubelet
here=$(realpath "$(dirname "$0")")
state=$build/tests/stacks
mkdir -p "$state"

export TRAINIT_DOCKER_MUST_WORK=1
DOCKER_HOST=$("$here/../docker/engine.sh" start "$state/engine")
export DOCKER_HOST
trap '"$here/../docker/engine.sh" stop "$state/engine"' EXIT

images() { # release
  "$here/../cluster/images.sh" "$state/$1" "$1"
}

# Of trixie: bookworm's Slurm has no keys of its own, and there is no gVisor in it.
packages_of() { # name packages, mmdebstrap's further arguments; its path
  release_packages_of trixie "$@"
}

release_packages_of() { # release, and as above
  local made=$state/$2.tar
  if [ ! -e "$made" ]; then
    unshare --mount mmdebstrap --quiet --format=tar --include="$3" "${@:4}" "$1" "$made.new" >&2
    mv "$made.new" "$made"
  fi
  echo "$made"
}

mpi() { # release
  TRAINIT_BINARY=$build/trainit TRAINIT_PAYLOAD=$build/tests/payload \
    TRAINIT_CLUSTER_IMAGES=$state/$1 "$build/dev/tests/cluster_test" --gtest_brief=1 \
    --gtest_filter='Cluster/Mpi*'
}

run() { # name
  local tar program
  case $1 in
    pytorch-*)
      images "${1#*-}"
      python3 "$here/pytorch.py" "$build/trainit" "$state/${1#*-}/torch.tar"
      ;;
    mpi-*) images "${1#*-}" && mpi "${1#*-}" ;;
    slurm)
      tar=$(packages_of slurm python3,slurmctld,slurmd,slurm-client --variant=minbase)
      python3 "$here/slurm.py" "$build/trainit" "$tar"
      ;;
    gvisor)
      tar=$(packages_of gvisor runsc --variant=extract)
      tar --extract --file="$tar" --directory="$state" ./usr/bin/runsc
      python3 "$here/gvisor.py" "$build/trainit" "$state/usr/bin/runsc"
      ;;
    kubelet)
      tar=$(release_packages_of bookworm go golang-go --variant=extract)
      program=$("$here/build_kubelet.sh" "$state" "$tar") || return
      tar=$(packages_of python python3 --variant=minbase)
      python3 "$here/kubelet.py" "$build/trainit" "$program" "$tar"
      ;;
    *)
      echo "run.sh: $1: found no such stack; see its first lines" >&2
      return 2
      ;;
  esac
}

wrong=()
for name; do
  echo "== $name"
  run "$name" || wrong+=("$name")
done
if [ ${#wrong[@]} -gt 0 ]; then
  echo "stacks: not as they should be: ${wrong[*]}" >&2
  exit 1
fi
echo "stacks: as they should be: $*"
