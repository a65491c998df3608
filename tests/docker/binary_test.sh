#!/bin/sh
# What an image may rely on: one static file of less than 4 MB, hardened: binary_test.sh BINARY OBJDUMP
# BINARY.symbols is BINARY with its symbols. OBJDUMP: an objdump for BINARY's architecture.
set -eu
binary=$1
objdump=$2
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

# Looks at functions in trainit's namespaces only, as libc has checks as well. _FORTIFY_SOURCE leaves a
# call where the size is not known at compile time, and for every snprintf.
calls=$("$objdump" -d --no-show-raw-insn "$binary.symbols" | awk '
  /^[0-9a-f]+ <.*>:$/ { name = $2 }
  /<_+(stack_chk_fail|snprintf_chk)>$/ { print name, $NF }' | sort -u)
for namespace in 4base 6envgen 9lifecycle 3sys 4proc 6engine 4copy; do
  expect "namespace $namespace checks its stack" "^<_ZNK?$namespace.* <__stack_chk_fail>" "$calls"
done
expect 'the C library checks what it is asked to write' '^<_ZN.* <_+snprintf_chk>' "$calls"
[ "$failures" -eq 0 ]
