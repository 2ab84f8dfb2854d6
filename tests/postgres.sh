#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# postgres.sh - a PostgreSQL server of Debian's package for tests, in a folder of its own, on a Unix socket there. It runs
# as an unprivileged user, since it refuses to run as root, and ends when the process OWNER has.
#
#   tests/postgres.sh start DIR OWNER    makes DIR and a server in it; its superuser is `admin`, with the password `admin`
#   tests/postgres.sh roles DIR          the roles and the database of docs/operations/workflow-database.md, word by word
#   tests/postgres.sh sql DIR DATABASE   runs standard input as the superuser
#   tests/postgres.sh again DIR          stops it at once, as a crash would, and starts it
#   tests/postgres.sh stop DIR
set -euo pipefail
export LC_ALL=C.UTF-8
what=${1:?} dir=${2:?}
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
[ -x "$bin/initdb" ] || {
    echo "postgres.sh: no PostgreSQL server is installed: ./dev deps test" >&2
    exit 1
}
export PGPASSWORD=admin PGOPTIONS=

# Root becomes the user of the package.
as_user() {
    if [ "$EUID" -eq 0 ]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@")
    else
        "$@"
    fi
}

control() {
    as_user "$bin/pg_ctl" -D "$dir/data" -s -w -t 60 "$@"
}

run_sql() {
    "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$dir" -U admin -d "$1"
}

start() {
    control -l "$dir/log" -o "-k '$dir' -c listen_addresses='' -c fsync=off -c max_connections=40 -c shared_buffers=16MB" start
}

case $what in
start)
    mkdir -p "$dir"
    chmod 755 "$dir"
    [ "$EUID" -ne 0 ] || chown postgres:postgres "$dir"
    echo admin >"$dir/password"
    chmod 644 "$dir/password"
    as_user "$bin/initdb" -D "$dir/data" -U admin -A scram-sha-256 --pwfile="$dir/password" --no-sync -E UTF8 \
        --locale=C.UTF-8 >/dev/null
    start
    (
        exec >/dev/null 2>&1 </dev/null
        while [ -d "/proc/${3:?}" ]; do sleep 1; done
        control -m immediate stop
    ) &
    ;;
roles)
    # The backquotes are Markdown's.
    # shellcheck disable=SC2016
    sed -n '/^```sql/,/^```/p' "$here/../docs/operations/workflow-database.md" | grep -v '^```' | run_sql postgres
    ;;
sql) run_sql "${3:?}" ;;
again)
    control -m immediate stop
    start
    ;;
stop) control -m immediate stop ;;
*)
    echo "postgres.sh: start, roles, sql, again or stop" >&2
    exit 2
    ;;
esac
