#!/bin/sh
# SPDX-License-Identifier: MIT
# redis-cluster.sh: makes a Redis Cluster of the six servers of the profile `cluster`, three masters with a replica each. If
# they are one already, it introduces them to each other by their addresses of now: containers that start again may have
# others. May run any number of times.
set -eu
REDISCLI_AUTH=$(cat /keys/admin-password)
export REDISCLI_AUTH
names='redis-cluster-1 redis-cluster-2 redis-cluster-3 redis-cluster-4 redis-cluster-5 redis-cluster-6'

ask() { redis-cli --no-auth-warning --user admin -h "$@"; }
address() { getent ahostsv4 "$1" | awk '{ print $1; exit }'; }
# Until a condition holds, for at most a minute.
wait_until() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || { echo "redis-cluster: waited in vain: $*" >&2; exit 1; }
        sleep 1
    done
}
answers() { [ "$(ask "$1" ping 2>/dev/null)" = PONG ]; }
is_whole() { ask "$1" cluster info | grep -q 'cluster_state:ok' && [ "$(ask "$1" cluster nodes | grep -c ' connected')" -eq 6 ]; }

for name in $names; do wait_until answers "$name"; done
if ask redis-cluster-1 cluster info | grep -q 'cluster_slots_assigned:0'; then
    addresses=
    for name in $names; do addresses="$addresses $(address "$name"):6379"; done
    # shellcheck disable=SC2086
    redis-cli --no-auth-warning --user admin --cluster create $addresses --cluster-replicas 1 --cluster-yes
else
    for name in $names; do ask redis-cluster-1 cluster meet "$(address "$name")" 6379 >/dev/null; done
fi
for name in $names; do wait_until is_whole "$name"; done
echo 'redis-cluster: all six are connected, and all slots are served'
