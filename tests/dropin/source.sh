#!/usr/bin/env bash
# The upstream sources of a Debian source package, unpacked: source.sh DIR PACKAGE VERSION
# Fetched once into DIR, as this machine's own apt gets packages, with a list of its own: the
# machine's is not touched. Prints the directory. Exit 1 where that is not possible.
set -eu

cache=$(realpath -m "${1:?a directory to keep sources in}")
package=${2:?a source package}
version=${3:?its version}
kept=$cache/$package-$version

upstream_of() { find "$1" -mindepth 1 -maxdepth 1 -type d; }

if [ -e "$kept/done" ]; then
  upstream_of "$kept"
  exit 0
fi
command -v apt-get >/dev/null || { echo "source: there is no apt-get" >&2; exit 1; }

mkdir -p "$cache"
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/parts" "$work/upstream"

# The machine's own list, for sources instead of binaries.
while IFS= read -r list; do
  sed -E 's/^Types:.*/Types: deb-src/; /^deb-src /d; s/^deb /deb-src /' "$list" \
    >"$work/parts/$(basename "$list")"
done < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
  \( -name '*.list' -o -name '*.sources' \) -size +0 2>/dev/null)

own=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts"
  -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root -o Acquire::Retries=2)
cd "$work"
if ! { apt-get "${own[@]}" update &&
  apt-get "${own[@]}" source --only-source --download-only --tar-only "$package=$version"; } \
  >log 2>&1 || ! tarball=$(ls -- *.orig.tar.*); then
  tail -n 5 log >&2
  echo "source: $package $version could not be fetched, see above" >&2
  exit 1
fi
# apt has compared it with the archive's signed sums.
tar -xf "$tarball" -C upstream
rm -rf "$kept"
mkdir "$kept"
mv upstream/* "$kept/"
touch "$kept/done"
upstream_of "$kept"
