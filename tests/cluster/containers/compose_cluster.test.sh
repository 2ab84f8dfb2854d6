#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# compose_cluster.test.sh - the profile `cluster` of docker-compose.yml, by podman and podman-compose: a Redis Cluster of six
# is made, nodes answer from it, a master stops under load, and the six find each other again at other addresses. Run by
# `./dev test containers`.
set -euo pipefail

readonly PROJECT=parleycluster$$
readonly REDIS="redis-cluster-1 redis-cluster-2 redis-cluster-3 redis-cluster-4 redis-cluster-5 redis-cluster-6"
readonly NODES="node1 node2 node3"
readonly SERVICES="setup $REDIS redis-cluster-join $NODES indexer nginx engine handbook ready"

show_more() {
    echo "== the cluster"
    admin redis-cluster-1 cluster nodes || true
}
# shellcheck source=tests/cluster/containers/compose.sh
. "$(dirname "${BASH_SOURCE[0]}")/compose.sh"

# As .env says.
PARLEY_REDIS=$(sed -nE 's|^# +(redis\+cluster://.*)|\1|p' .env)
export PARLEY_REDIS

# admin SERVER COMMAND...
# shellcheck disable=SC2016
admin() { inside "$1" sh -c 'REDISCLI_AUTH=$(cat /keys/admin-password) exec redis-cli --no-auth-warning --user admin "$@"' sh "${@:2}"; }
is_whole() {
    admin "$1" cluster info >"$work/cluster"
    admin "$1" cluster nodes >>"$work/cluster"
    grep -q cluster_state:ok "$work/cluster" && grep -q cluster_slots_ok:16384 "$work/cluster" &&
        [ "$(grep -c '[ ,]master - .* connected' "$work/cluster")" -eq 3 ] && [ "$(grep -c '[ ,]slave .* connected' "$work/cluster")" -eq 3 ]
}

what="base images and the image of the Dockerfile are there"
tests/cluster/containers/podman.sh images
compose build setup
ok

what="a Redis Cluster of three masters and three replicas is made"
# shellcheck disable=SC2086
compose up -d $SERVICES
until_true 120 has_ended redis-cluster-join
for name in $REDIS; do until_true 30 is_whole "$name"; done
ok

what="nodes answer from it, and the last container prints the lines to paste"
until_true 180 has_ended ready
for name in $NODES indexer nginx; do until_true 60 is_healthy "$name"; done
says "^Parley answers at $url" podman logs "$(name_of ready)"
inside node1 cat /keys/nodes/secrets/User_1 >"$work/User_1"
client stream
keys=0
for name in $REDIS; do keys=$((keys + $(admin "$name" dbsize))); done
[ "$keys" -gt 0 ]
ok "$keys keys, with those of replicas"

# The server that has the slot of the queue.
slot=$(admin redis-cluster-1 cluster keyslot "parley:{0}:x")
master_of_slot() {
    local id name
    id=$(admin "$1" cluster nodes | awk -v slot="$slot" '$3 ~ /master/ && $3 !~ /fail/ { for (i = 9; i <= NF; i++) { split($i, range, "-"); if (slot >= range[1] && slot <= range[2]) print $1 } }')
    for name in $REDIS; do [ "$(admin "$name" cluster myid 2>/dev/null)" != "$id" ] || echo "$name"; done
}
what="the master with the queue stops under load, its replica takes over, and clients that retry lose nothing"
master=$(master_of_slot redis-cluster-1)
others=$(tr ' ' '\n' <<<"$REDIS" | grep -vx "$master")
other=$(head -n 1 <<<"$others")
start_load "$url" retry
until_true 60 is_loaded "$(now)"
podman stop -t 30 "$(name_of "$master")" >"$work/out"
has_another() { [ -n "$(master_of_slot "$other")" ]; }
until_true 60 has_another
next=$(master_of_slot "$other")
until_true 60 is_loaded "$(now)"
podman start "$(name_of "$master")" >"$work/out"
for name in $REDIS; do until_true 60 is_whole "$name"; done
until_true 60 is_loaded "$(now)"
end_load
ok "$master, then $next: $(head -n 1 "$work/load.out")"

what="all stop and start again at other addresses, and find each other"
address_of() { podman inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$(name_of "$1")"; }
before=$(for name in $REDIS; do address_of "$name"; done)
for name in engine nginx indexer $NODES $REDIS; do podman stop -t 30 "$(name_of "$name")" >>"$work/compose.log" 2>&1; done
for name in $(tr ' ' '\n' <<<"$REDIS" | sort -r) redis-cluster-join $NODES indexer nginx engine; do
    podman start "$(name_of "$name")" >>"$work/compose.log" 2>&1
done
until_true 120 has_ended redis-cluster-join
[ "$(for name in $REDIS; do address_of "$name"; done)" != "$before" ]
for name in $REDIS; do until_true 60 is_whole "$name"; done
for name in $NODES indexer nginx; do until_true 60 is_healthy "$name"; done
until_true 60 client stream
ok
