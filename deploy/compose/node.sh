#!/bin/sh
# SPDX-License-Identifier: MIT
# node.sh: runs a node, and stays for two seconds when it has ended after SIGTERM. An address that is gone answers nothing,
# and nginx waits for it; one that refuses connections makes nginx take the next node at once, and leave this one out until
# its name leads elsewhere. On Kubernetes, preStop and the endpoints see to that.
set -eu
parley "$@" &
node=$!
stopping=
trap 'stopping=1; kill -TERM $node' TERM INT
trap 'kill -HUP $node' HUP
# A signal ends `wait` early.
status=0
wait $node || status=$?
while kill -0 $node 2>/dev/null; do
    status=0
    wait $node || status=$?
done
[ -z "$stopping" ] || sleep 2
exit $status
