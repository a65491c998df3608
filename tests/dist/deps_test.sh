#!/usr/bin/env bash
# .ci/deps on distributions, by the os-release of each: deps_test.sh SOURCE_DIR
# dpkg-query knows no package and apt-get records its call. Exit 77 where only root may mount.
set -euo pipefail

deps=$(realpath "$1")/.ci/deps
[ "$(id -u)" -eq 0 ] || { echo 'SKIPPED: only root can mount an os-release'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\necho "$*" >>%s/asked\n' "$work" >"$work/bin/apt-get"
chmod 755 "$work/bin/"*

on() { # os-release
  rm -f "$work/asked"
  printf '%b' "$1" >"$work/os-release"
  # The inner shell expands.
  # shellcheck disable=SC2016
  unshare --mount --pid --fork sh -c \
    'mount --bind "$1/os-release" "$(realpath /etc/os-release)" && PATH=$1/bin:$PATH exec "$2" build' \
    sh "$work" "$deps" >"$work/said" 2>&1
}
failures=0
fail() { echo "FAILED: $1: $(cat "$work/said")"; failures=$((failures + 1)); }

for version in 12 13; do
  if ! on "ID=debian\nVERSION_ID=\"$version\"\n" || ! grep -q '^install .*cmake' "$work/asked"; then
    fail "Debian $version"
  fi
done
for other in 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n' 'ID=debian\nPRETTY_NAME="Debian GNU/Linux sid"\n'; do
  if on "$other" || [ -e "$work/asked" ] || [ "$(wc -l <"$work/said")" != 1 ] ||
    ! grep -Eq 'Debian 12 or 13, not on (Ubuntu 24.04.1 LTS|Debian GNU/Linux sid): nothing was installed' "$work/said"; then
    fail "$other"
  fi
done
[ "$failures" -eq 0 ]
