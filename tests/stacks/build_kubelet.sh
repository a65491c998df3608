#!/usr/bin/env bash
# Debian 12's Kubernetes has no package of the kubelet, but its sources: build_kubelet.sh DIR GO_TAR
# GO_TAR: an image's root with Debian's Go. Built once, in about ten minutes, without a network but
# that for the sources. Prints the program.
set -eu

state=$(realpath "${1:?a directory to keep the kubelet in}")
go_tar=$(realpath "${2:?a root with Go}")
here=$(realpath "$(dirname "$0")")
made=$state/kubelet

if [ -x "$made" ]; then
  echo "$made"
  exit 0
fi

sources=$("$here/../../.ci/source" "$state/sources" kubernetes 1.20.5+really1.20.2-1.1+deb12u1)
sum=$(cd "$sources" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
if [ "${sum%% *}" != 3622f937079500a834d867630a5551412f7e0f3964b7ceee2c510226e9f9e380 ]; then
  echo "build_kubelet.sh: $sources: found the sum ${sum%% *}, which these sources have not;" \
    "remove the directory" >&2
  exit 1
fi

work=$(mktemp -d "$state/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Debian's Go needs no other place for its own files than beside it.
tar --extract --file="$go_tar" --directory="$work" --wildcards './usr/lib/go-*' './usr/share/go-*'
GOROOT=$(find "$work/usr/lib" -maxdepth 1 -name 'go-*')
mkdir -p "$work/path/src/k8s.io"
ln -s "$sources" "$work/path/src/k8s.io/kubernetes"
export GOROOT GOPATH=$work/path GOCACHE=$work/cache GO111MODULE=off GOPROXY=off CGO_ENABLED=0
# Without the disks of clouds, which are half of it.
vendor=k8s.io/kubernetes/vendor/k8s.io
"$GOROOT/bin/go" build -trimpath -tags providerless \
  -ldflags "-s -w -X $vendor/component-base/version.gitVersion=v1.20.2" \
  -o "$work/kubelet" k8s.io/kubernetes/cmd/kubelet >&2
mv "$work/kubelet" "$made"
echo "$made"
