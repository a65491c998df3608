#!/bin/sh
# What an image may rely on: one static file of less than 4 MB, hardened: binary_test.sh BINARY OBJECT...
# OBJECT: libraries of ours, in which the compiler's checks can still be seen.
set -eu
binary=$1
shift
limit_bytes=4000000
failures=0

expect() { # what it is, the pattern, the text
  if printf '%s\n' "$3" | grep -Eq -- "$2"; then
    echo "ok: $1"
  else
    echo "FAILED: $1"
    failures=$((failures + 1))
  fi
}

expect_none() { # what it is, the pattern, the text
  if printf '%s\n' "$3" | grep -E -- "$2"; then
    echo "FAILED: $1"
    failures=$((failures + 1))
  else
    echo "ok: $1"
  fi
}

size_bytes=$(stat -L -c %s "$binary")
echo "$size_bytes bytes of at most $limit_bytes"
[ "$size_bytes" -lt "$limit_bytes" ]

header=$(readelf -hW "$binary")
segments=$(readelf -lW "$binary")
dynamic=$(readelf -dW "$binary")
expect 'is position independent' '^ *Type: +DYN' "$header"
expect_none 'needs no loader and no library' 'INTERP|\(NEEDED\)' "$segments$dynamic"
expect_none 'no relocation changes its code' 'TEXTREL' "$dynamic"
expect 'all is bound before it starts' 'FLAGS_1.*NOW.*PIE|BIND_NOW' "$dynamic"
expect 'what relocations write is read-only then' 'GNU_RELRO' "$segments"
expect 'its stack is not executable' 'GNU_STACK.* RW +0x' "$segments"
expect_none 'nothing can be written and executed' 'LOAD.* RWE' "$segments"

# Of ours alone: libc checks its own. Of _FORTIFY_SOURCE only what it cannot know at compile time
# leaves a call, and that of snprintf.
expect 'the C library checks what it is asked to write' '__snprintf_chk' "$(readelf -sW "$@")"
for library in "$@"; do
  expect "$library checks its stack" '__stack_chk_fail' "$(readelf -sW "$library")"
done
[ "$failures" -eq 0 ]
