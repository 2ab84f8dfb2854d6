# SPDX-License-Identifier: MIT
#
# cluster.sh - a Redis, nodes and an engine on this machine: up, cluster, down and bench.

# var/secrets/NAME holds what --secret-file takes.
make_accounts() {
    [ ! -f $ACCOUNTS ] || return 0
    say "Making accounts with random secrets: $ACCOUNTS"
    deploy/make-accounts.sh var
}

port_of() { cat "var/run/$1.port"; }

redis_answers() { [ "$(redis-cli -p "$1" ping)" = PONG ]; }

# start_redis NAME FOLDER [PORT]: a Redis of our own with an append-only file in that folder.
start_redis() {
    local name=$1 folder=$2 port=${3:-}
    if pid_of "$name" >/dev/null; then
        say "$name runs already on port $(port_of "$name")"
        return
    fi
    port=${port:-$(free_port $REDIS_PORT)}
    mkdir -p "$folder"
    printf '%s\n' "$port" >"var/run/$name.port"
    launch "$name" redis-server --bind 127.0.0.1 --port "$port" --dir "$PWD/$folder" \
        --appendonly yes --appendfsync everysec --save '' --daemonize no
    wait_until "$name" "an answer to PING" redis_answers "$port"
    say "started $name on port $port, its data in $folder/"
}

node_is_ready() { curl -fsS -m 2 "http://127.0.0.1:$1/readyz"; }

# The flags of nodes on the Redis at that port.
node_args() {
    args=(serve --target=all --redis "redis://127.0.0.1:$1/0" --accounts "$ACCOUNTS" "${log_args[@]}")
}

# check_nodes REDIS_PORT: whether nodes can be started there with these settings, before one that runs is stopped.
check_nodes() {
    local args said
    node_args "$1"
    said=$("$PARLEY" "${args[@]}" --check-config 2>&1 >/dev/null) && return
    printf '%s\n' "$said" >&2
    case $said in *--shards\ is*)
        warn "the number of shards is fixed when the first data are stored. To begin again without them: $DEV down, then remove $PWD/var/redis"
        ;;
    esac
    die "no node was started or replaced"
}

# start_node NAME REDIS_NAME [PORT]: on that port, or where it ran before, or on the first free one from
# NODE_PORT on.
start_node() {
    local name=$1 port=${3:-} args
    node_args "$(port_of "$2")"
    if pid_of "$name" >/dev/null; then
        port=$(port_of "$name")
        if runs_as "$name" "$PARLEY" "${args[@]}" --listen "127.0.0.1:$port"; then
            say "$name runs already at http://127.0.0.1:$port, with these settings"
            return
        fi
    fi
    port=${port:-$(free_port "${node_port:-$NODE_PORT}")}
    launch "$name" "$PARLEY" "${args[@]}" --listen "127.0.0.1:$port"
    printf '%s\n' "$port" >"var/run/$name.port"
    wait_until "$name" "an answer to /readyz" node_is_ready "$port"
    say "started $name at http://127.0.0.1:$port"
}

# A folder of pages in the collection that /ask answers from, which node 1 serves below the path. What is unchanged is passed over.
publish() {
    "$PARLEY" ingest --redis "redis://127.0.0.1:$(port_of redis)/0" --collection public --prune \
        --base-url "http://127.0.0.1:$(port_of node1)/$2" "$1" ||
        warn "$1 is not, or not whole, in the collection public"
}

fill_public() {
    publish docs/handbook handbook
    publish docs/operations handbook/operations
}

# What `. var/env` gives a shell: `parley` on its path, and the node and account that its commands use.
write_env() {
    local bin
    bin=$(dirname "$(readlink -f "$PARLEY")")
    cat >var/env.new <<TEXT
# Written by $DEV up and $DEV cluster, for shells: . $(printf '%q' "$PWD/var/env")
export PARLEY_URL=http://127.0.0.1:$(port_of node1)
export PARLEY_USER=User_1
export PARLEY_SECRET_FILE=$(printf '%q' "$PWD/$SECRETS/User_1")
case ":\$PATH:" in *:$(printf '%q' "$bin"):*) ;; *) PATH=$(printf '%q' "$bin"):\$PATH ;; esac
TEXT
    mv var/env.new var/env
}

# Each line to paste is one line, and works in any folder.
first_steps() {
    local url env link
    url=http://127.0.0.1:$(port_of node1)
    link=$("$PARLEY" link --url "$url" --user User_1 --secret-file "$SECRETS/User_1") || link=$url/app/
    env=$(printf '%q' "$PWD/var/env")
    cat <<TEXT

Parley answers at $url (metrics at $url/metrics).

Chat in a browser, signed in as User_1. This link works once, within ten minutes; parley link prints another one:

  $link

In this shell, from now on: where Parley is, and an account to use it with

  . $env

Ask the handbook, as anybody may, and get an answer that names its sources:

  parley ask --public "What happens when an engine dies?"

Read the handbook, where these sources lead to: $url/handbook

Put a question into the queue as User_1, and get the answer of an engine:

  parley ask "How long does a lease last?"

Ask a document of your own:

  parley ask --file $(printf '%q' "$PWD/docs/architecture.md") "What does a turn of a node collect?"

Run a workflow of models, SQL and, where a model says no, you:

  parley workflow run RULE 'run Show patterns'

Register a bot that answers from the engines, and ask it in a room:

  curl -sw '\\n' "\$(parley sign /api/bots)" -d '{"username":"librarian","endpoint":"parley:default"}'
  curl -sw '\\n' "\$(parley sign /api/rooms/\$(curl -s "\$(parley sign /api/rooms)" -d '{"name":"Tea kitchen"}' | cut -d'"' -f4)/messages)" -d '{"text":"@librarian How long does a lease last?"}'

and read the answer there a moment later: $url/handbook/rooms says how

The secret of User_1 is $(cat $SECRETS/User_1); all accounts are in $PWD/$ACCOUNTS

$DEV engine --llm URL --model NAME answers with a model of yours instead of the built-in one,
$DEV logs follows what happens, $DEV down stops it all.
TEXT
}

# is_elsewhere NAME PORT: whether it runs, and on a port other than the one that was asked for.
is_elsewhere() { [ -n "$2" ] && pid_of "$1" >/dev/null && [ "$(port_of "$1")" != "$2" ]; }

# start_all N: Redis, nodes 1 to N, an engine; nodes past N from an earlier run are stopped.
start_all() {
    local n=$1 i name model args nodes
    model=$(model_args)
    unset PARLEY_LLM_URL PARLEY_LLM PARLEY_MODEL # settings of the engine, which gets them as flags
    mapfile -t nodes < <(names_running node)
    die_if_taken --port "$node_port" "${nodes[@]}"
    die_if_taken --redis-port "$redis_port" redis "${nodes[@]}"
    build_ours
    make_accounts
    ulimit -n "$(ulimit -Hn)"
    if pid_of redis >/dev/null; then check_nodes "$(port_of redis)"; fi
    # What is to move stops with what talks to it, in the order that loses nothing. The rest comes back where it was.
    if pid_of redis >/dev/null; then redis_port=${redis_port:-$(port_of redis)}; fi
    if pid_of node1 >/dev/null; then node_port=${node_port:-$(port_of node1)}; fi
    if is_elsewhere redis "$redis_port" || is_elsewhere node1 "$node_port"; then down; fi
    start_redis redis var/redis "$redis_port"
    check_nodes "$(port_of redis)"
    start_node node1 redis "$node_port"
    for ((i = 2; i <= n; i++)); do start_node "node$i" redis; done
    for name in $(names_running node); do
        [ "${name#node}" -le "$n" ] || stop "$name"
    done
    fill_public
    mapfile -t args < <(printf '%s' "${model:+$model$'\n'}")
    start_engine "$n" "${args[@]}"
}

up() {
    start_all 1
    write_env
    first_steps
}

cluster() {
    local n=${words[0]:-2} i
    start_all "$n"
    write_env
    say
    say "$n nodes behave as one; put any load balancer in front, or send each request to any of them:"
    for ((i = 1; i <= n; i++)); do say "  node$i  http://127.0.0.1:$(port_of "node$i")"; done
    first_steps
}

# Engines first (they give claims back through a node), then nodes, then Redis.
down() {
    local name stopped=no
    rm -f var/env
    for name in engine $(names_running node) bench-node redis bench-redis; do
        pid_of "$name" >/dev/null && stopped=yes
        stop "$name"
    done
    [ $stopped = yes ] || say "nothing was running"
}

bench() {
    build_ours
    make_accounts
    ulimit -n "$(ulimit -Hn)"
    trap 'stop bench-node >&2; stop bench-redis >&2; rm -rf var/bench-redis' EXIT
    {
        start_redis bench-redis var/bench-redis
        start_node bench-node bench-redis
    } >&2
    $PARLEY bench --url "http://127.0.0.1:$(port_of bench-node)" --accounts $ACCOUNTS "$@"
}
