#!/usr/bin/env bash
# Images with the real engines, from Debian's packages alone: images.sh DIR [SUITE]
# Makes DIR/mpi.tar and DIR/torch.tar, for docker import, of Debian 12 or of another release. Those
# of Debian 12 come as this machine's own apt gets them, the others from Debian's default mirror.
# An image is made once; another list of packages makes it anew.
# Where that is not possible: exit 1 with TRAINIT_DOCKER_MUST_WORK=1, else the tests skip.
set -eu

image_dir=${1:?a directory for the images}
suite=${2:-bookworm}

# Both MPIs; whose mpirun is found is PATH's to say, /opt/mpich/bin first for MPICH.
mpi_packages=python3,python3-mpi4py,openmpi-bin,mpich,openssh-server,openssh-client,slurm-client
torch_packages=python3,python3-torch
case $suite in
  bookworm | trixie) ;;
  *) torch_packages+=,python3-accelerate ;;
esac

no_images() {
  echo "images: no images of the engines: $1" >&2
  if [ "${TRAINIT_DOCKER_MUST_WORK:-0}" = 1 ]; then exit 1; fi
  echo 'images: THE CLUSTER TESTS ARE SKIPPED (TRAINIT_DOCKER_MUST_WORK=1 makes this a failure)' >&2
  exit 0
}

# Runs outside of the image, with its root as the argument.
finish_root() {
  cat <<'SCRIPT'
chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash trainer
if [ -e "$1/usr/bin/mpirun.mpich" ]; then
  mkdir -p "$1/opt/mpich/bin"
  ln -s /usr/bin/mpirun.mpich "$1/opt/mpich/bin/mpirun"
  ln -s /usr/bin/hydra_pmi_proxy "$1/opt/mpich/bin/hydra_pmi_proxy"  # looked for beside mpirun
fi
rm -f "$1"/etc/ssh/ssh_host_*
# Debian's PyTorch 2 has no libuv, and asks for it: USE_LIBUV=0 is read in one of three places.
torch=$1/usr/lib/python3/dist-packages/torch/distributed
if grep -qs USE_LIBUV "$torch/rendezvous.py"; then
  cat >>"$torch/__init__.py" <<'PYTHON'

_init_of_store = TCPStore.__init__


def _init_without_libuv(*args, **words):
    _init_of_store(*args, **{**words, "use_libuv": False})


TCPStore.__init__ = _init_without_libuv
PYTHON
fi
SCRIPT
}

make_image() { # name packages
  local tar=$image_dir/$1.tar key work isolate=() sources=() start=$SECONDS
  key=$(cat "$0" <(echo "$suite $2") | sha256sum | cut -d' ' -f1)
  if [ -e "$tar" ] && [ "$(cat "$tar.key" 2>/dev/null)" = "$key" ]; then
    echo "images: $1 is there"
    return
  fi
  rm -f "$tar" "$tar.key"
  work=$(mktemp -d "$image_dir/work.XXXXXX")
  # Root's mmdebstrap mounts /proc and /sys into the root that it makes: they end with it, whatever
  # happens. Others have a namespace anyway.
  if [ "$(id -u)" -eq 0 ]; then isolate=(unshare --mount); fi
  # A proxy, time-outs, retries.
  apt-config dump | grep '^Acquire::' >"$work/apt.conf" || true
  if [ "$suite" = bookworm ]; then
    mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
      \( -name '*.list' -o -name '*.sources' \) -size +0 2>/dev/null | sort)
  fi
  if ! "${isolate[@]}" mmdebstrap --quiet --format=tar --variant=minbase \
    --aptopt="$work/apt.conf" --include="$2" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="$(finish_root)" "$suite" "$work/$1.tar" "${sources[@]}" >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    rm -rf "$work"
    no_images "mmdebstrap could not make $1, see above"
  fi
  mv "$work/$1.tar" "$tar"
  rm -rf "$work"
  echo "$key" >"$tar.key"
  echo "images: $1 made in $((SECONDS - start)) s, $(($(stat -c %s "$tar") / 1000000)) MB"
}

mkdir -p "$image_dir"
command -v mmdebstrap >/dev/null || no_images 'there is no mmdebstrap'
make_image mpi "$mpi_packages"
make_image torch "$torch_packages"
