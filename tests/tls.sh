#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tls.sh - a certificate for nodes under test, in build/tls, made once a month; prints the folder. With PARLEY_TEST_TLS=1
# `./dev test FILE` runs the file's nodes with it: all of their clients then speak TLS.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
dir=$PWD/build/tls
mkdir -p build
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if ! openssl x509 -in "$dir/cert.pem" -checkend 86400 -noout >/dev/null 2>&1; then
    rm -rf "$dir.new"
    mkdir -p "$dir.new"
    (
        cd "$dir.new"
        openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ca.key
        openssl req -x509 -new -key ca.key -subj '/CN=Authority of the tests' -days 30 -out ca.pem
        openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
        openssl req -new -key key.pem -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1,DNS:localhost' -out node.csr
        openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copyall -days 30 -out cert.pem
    ) 2>/dev/null
    rm -rf "$dir"
    mv "$dir.new" "$dir"
fi
printf '%s\n' "$dir"
