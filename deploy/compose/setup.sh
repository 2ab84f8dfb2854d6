#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh: the secrets of docker-compose.yml, each in the volume of those that read it, and in no other:
#   /keys/redis    users.acl, replica.conf, admin-password       Redis itself (user 999)
#   /keys/store    redis-password                                whatever speaks to Redis: nodes, indexer, tools
#   /keys/nodes    accounts.yaml, secrets/NAME                   nodes
#   /keys/engine   secret                                        the engine
# What lies in deploy/secrets (mounted at /given) is taken: accounts.yaml, redis-password, NAME of an account. What is not
# there is made with random secrets, once: what the volumes hold is kept.
set -eu
umask 077
parley=10001 redis=999

random() { od -An -v -tx1 -N24 /dev/urandom | tr -d ' \n'; }

# keep FILE OWNER: standard input becomes FILE as a whole, readable by its owner alone.
keep() {
    cat >"$1.new"
    [ -s "$1.new" ] || { echo "setup: $1 would be empty" >&2; exit 1; }
    chown "$2:$2" "$1.new"
    chmod 400 "$1.new"
    mv "$1.new" "$1"
}

# given NAME: the file that people brought, without the newline at its end.
given() { [ ! -f "/given/$1" ] || printf '%s' "$(cat "/given/$1")"; }

# secret NAME FILE OWNER: what was brought; else what is there; else a random one.
secret() {
    brought=$(given "$1")
    if [ -n "$brought" ]; then
        printf '%s' "$brought" | keep "$2" "$3"
    elif [ ! -s "$2" ]; then
        random | keep "$2" "$3"
    fi
}

hash() { printf '%s' "$(cat "$1")" | sha256sum | cut -d' ' -f1; }

chown $redis:$redis /keys/redis
chown $parley:$parley /keys/store /keys/nodes /keys/engine
chmod 700 /keys/redis /keys/store /keys/nodes /keys/engine

# --- Redis -----------------------------------------------------------------------------------------
secret redis-password /keys/store/redis-password $parley
secret redis-admin-password /keys/redis/admin-password $redis
secret redis-replica-password /keys/redis/replica-password $redis
# Hashes, so that the file says no password. Nobody can log in as `default`, which keeps all rights: Redis reads its own
# append-only file as that user, and leaves out each transaction that it may not run. Anybody may ask whether Redis is alive.
cat <<TEXT | keep /keys/redis/users.acl $redis
user default off nopass sanitize-payload ~* &* +@all
user health on nopass sanitize-payload resetkeys resetchannels -@all +ping
user parley on #$(hash /keys/store/redis-password) $(sed 's/#.*//' /usr/local/share/parley/redis.acl | tr '\n' ' ')
user replica on #$(hash /keys/redis/replica-password) resetkeys resetchannels -@all +psync +replconf +ping
user admin on #$(hash /keys/redis/admin-password) ~* &* +@all
TEXT
cat <<TEXT | keep /keys/redis/replica.conf $redis
masteruser replica
masterauth $(cat /keys/redis/replica-password)
TEXT

# --- accounts --------------------------------------------------------------------------------------
if [ -f /given/accounts.yaml ]; then
    cat /given/accounts.yaml >/keys/nodes/accounts.new
    mv /keys/nodes/accounts.new /keys/nodes/accounts.yaml
    mkdir -p /keys/nodes/secrets
    for name in Inference_1 User_1 Operator_1; do
        brought=$(given $name)
        [ -z "$brought" ] || printf '%s' "$brought" >"/keys/nodes/secrets/$name"
    done
    [ -s /keys/nodes/secrets/Inference_1 ] || {
        echo "setup: deploy/secrets/accounts.yaml is there, and deploy/secrets/Inference_1, the secret of the engine's account, is not" >&2
        exit 1
    }
else
    make-accounts /keys/nodes
fi
chown -R $parley:$parley /keys/nodes
keep /keys/engine/secret $parley </keys/nodes/secrets/Inference_1
echo "setup: the secrets are there"
