#!/bin/sh
# What an image may rely on: one static file of less than 4 MB.
set -eu
binary=$1
limit_bytes=4000000

kind=$(file -L "$binary")
case $kind in
  *'statically linked'* | *'static-pie linked'*) ;;
  *) echo "not static: $kind"; exit 1 ;;
esac
size_bytes=$(stat -L -c %s "$binary")
echo "$size_bytes bytes of at most $limit_bytes"
[ "$size_bytes" -lt "$limit_bytes" ]
