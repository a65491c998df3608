#!/usr/bin/env bash
# make dist and make images: dist_test.sh SOURCE_DIR TINYXML2_DIR TRAINIT ARCHITECTURE
# The same bytes from another directory with another umask and clock, and what is in them is whole.
set -euo pipefail

source=$(realpath "$1")
tinyxml2=$(realpath "$2")
trainit=$(realpath "$3")
architecture=$4
export SOURCE_DATE_EPOCH=1700000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() { # what it is, the condition as a command
  local what=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok: $what"
  else
    echo "FAILED: $what: $(head -n 20 "$work/said")"
    failures=$((failures + 1))
  fi
}

# A checkout of somebody else: other modes, other times.
copy_sources() { # directory
  mkdir -p "$1"
  (umask 077 && cd "$source" && cp -r .ci docs hooks images ./*.md LICENSE Dockerfile.* CMakeLists.txt "$1/")
}

copy_sources "$work/other checkout"
(umask 022 && "$source/.ci/dist" "$work/one" "$tinyxml2" "$architecture=$trainit" >/dev/null)
(umask 077 && TZ=Asia/Shanghai "$work/other checkout/.ci/dist" "$work/two" "$tinyxml2" \
  "$architecture=$trainit" >/dev/null)
(umask 022 && DOCKER_HOST=unix:///nonexistent "$source/.ci/images" "$work/one" \
  "$architecture=$trainit" arm64="$trainit" >"$work/images")
(umask 077 && DOCKER_HOST=unix:///nonexistent "$work/other checkout/.ci/images" "$work/two" \
  "$architecture=$trainit" arm64="$trainit" >/dev/null)
expect 'two builds give the same bytes' diff -r "$work/one" "$work/two"
expect 'images says that there is no engine' grep -q 'no Docker engine answers' "$work/images"

cd "$work/one"
version=$("$trainit" --version | cut -d' ' -f2)
name=trainit-$version-linux-$architecture
package=trainit_${version}_$architecture.deb
expect 'the sums are right' sha256sum --check --strict SHA256SUMS
expect 'of the three files' test "$(wc -l <SHA256SUMS)" = 3
expect 'the SPDX document is one, of these files' "$source/tests/dist/spdx.py" "$name.spdx.json" "$name.tar.gz" "$package" "$trainit"

for made in "$package" "$name.tar.gz" "trainit-$version-image-$architecture.tar"; do
  for page in README.md README.zh.md docs/building.md; do
    expect "$page names $made" grep -qF "\`$(sed "s/$version/VERSION/; s/$architecture/ARCH/" <<<"$made")\`" "$source/$page"
  done
done

tar -xzf "$name.tar.gz"
expect 'the tarball has the binary' cmp "$name/bin/trainit" "$trainit"
for part in share/man/man1/trainit.1 share/bash-completion/completions/trainit \
  share/zsh/vendor-completions/_trainit share/fish/vendor_completions.d/trainit.fish \
  share/doc/trainit/copyright share/doc/trainit/README.md share/doc/trainit/README.zh.md share/doc/trainit/CHANGELOG.md \
  share/doc/trainit/docs/security.md share/trainit/images/prepare-image \
  share/trainit/hooks/pre-start.d/10-workspace share/trainit/Dockerfile.gpu share/trainit/Dockerfile.ascend \
  share/trainit/images/pods/volcano-ascend.yaml share/trainit/images/slurm/node.sbatch; do
  expect "the tarball has $part" test -s "$name/$part"
done
expect 'the links of its documents lead somewhere' "$source/tests/docs/links.py" "$work/one/$name"
for library in 'GNU C Library' libstdc++ libseccomp libcap libsodium 'Niels Lohmann' spdlog fmt xxHash 'Lee Thomason'; do
  expect "the notices name $library" grep -qi -- "$library" "$name/share/doc/trainit/copyright"
done
for licence in 'Apache License' 'GNU LESSER GENERAL PUBLIC LICENSE' 'GCC RUNTIME LIBRARY EXCEPTION' 'END OF TERMS AND CONDITIONS'; do
  expect "they hold the text: $licence" grep -q "$licence" "$name/share/doc/trainit/copyright"
done

# As dpkg installs it, into a root of its own.
root=$work/root
mkdir -p "$root/var/lib/dpkg/"{info,updates}
touch "$root/var/lib/dpkg/status"
dpkg_here() { dpkg --root="$root" --log=/dev/null --force-not-root --force-bad-path "$@"; }
expect 'dpkg installs the package' dpkg_here --install "$package"
expect 'what it installed is whole' test -z "$(dpkg_here --verify trainit)"
expect 'the binary runs' "$root/usr/bin/trainit" -- true
expect 'nothing of it is set-uid or for others to write' \
  test -z "$(find "$root/usr" ! -type l -perm /6022)"
expect 'hooks are examples, not active' test ! -e "$root/etc/trainit"
manual() {
  local warnings
  warnings=$(zcat "$root/usr/share/man/man1/trainit.1.gz" | groff -man -Tascii -P-c -P-b -P-u -ww 2>&1 >"$work/manual")
  [ -z "$warnings" ] && grep -q -- '--rank-table' "$work/manual"
}
expect 'the man page is one without warnings' manual
completes() {
  bash -c '. "$1" && COMP_WORDS=(trainit --rank-tab) COMP_CWORD=1 && _trainit &&
    [[ " ${COMPREPLY[*]} " == *" --rank-table "* ]]' completes \
    "$root/usr/share/bash-completion/completions/trainit"
}
expect 'bash completes an option' completes
expect 'dpkg removes the package' dpkg_here --remove trainit
expect 'and nothing stays' test ! -e "$root/usr/bin/trainit"

config=$(tar -xOf trainit-arm64.tar manifest.json | sed 's/.*"Config":"\([^"]*\)".*/\1/')
expect 'the image says what it is for' grep -q '"architecture":"arm64"' \
  <(tar -xOf trainit-arm64.tar "$config")
expect 'the image holds one file' test "$(tar -xOf trainit-arm64.tar layer.tar | tar -tf -)" = trainit

# Of what was there before, a binary would be another commit's.
both() {
  make -n -C "$source" ARCH=arm64 images >"$work/steps" && grep -q -- '--preset release' "$work/steps" &&
    grep -q -- '--preset arm64' "$work/steps"
}
expect 'make images and dist build both first, whatever ARCH says' both

# make release: from a commit, with a section for its version.
checkout=$work/release
copy_sources "$checkout"
printf '/build/\n' >"$checkout/.gitignore"
ours() { git -C "$checkout" -c user.name=test -c user.email=test@trainit.example "$@"; }
commit() { ours add -A && ours commit -q -m test --date "@$SOURCE_DATE_EPOCH +0000"; }
refuses() { # text, the rest: release's arguments
  local text=$1
  shift
  ! "$checkout/.ci/release" "$@" >"$work/refused" 2>&1 && grep -q -- "$text" "$work/refused"
}
git init -q "$checkout"
sed -i '/^## \['"$version"'\]/d' "$checkout/CHANGELOG.md"
commit
expect 'a release wants a section of the changelog' refuses "no section for $version: rename \[Unreleased\]" check
sed -i "s/^## \[Unreleased\]/&\n\n## [$version] - 2026-11-24/" "$checkout/CHANGELOG.md"
expect 'and a clean tree' refuses 'the tree is not clean: commit' check
commit
touch "$checkout/new"
expect 'without files that nobody knows' refuses '?? new' check
rm "$checkout/new"
expect 'then it may be made' "$checkout/.ci/release" check
release() { "$checkout/.ci/release" all "$1" "$tinyxml2" "$architecture=$trainit"; }
expect 'it is made' release "$work/first"
expect 'and again' release "$checkout/build/second"
expect 'with the same bytes' diff -r "$work/first" "$checkout/build/second"
expect 'its sums are right' env -C "$work/first" sha256sum --check --strict SHA256SUMS
expect 'of all that is there' test "$(wc -l <"$work/first/SHA256SUMS")" = "$(find "$work/first" -type f ! -name SHA256SUMS | wc -l)"
for file in "$name.tar.gz" "$package" "$name.spdx.json" "trainit-$version-image-$architecture.tar" "trainit-$version-notes.md"; do
  expect "the release has $file" test -s "$work/first/$file"
done
sed -i 's/^project(trainit VERSION [0-9.]*/project(trainit VERSION 99.0.0/' "$checkout/CMakeLists.txt"
sed -i 's/^## \['"$version"'\] /## [99.0.0] /' "$checkout/CHANGELOG.md"
commit
expect 'a binary of another version is refused' \
  refuses 'make it first' all "$work/third" "$tinyxml2" "$architecture=$trainit"

[ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }
