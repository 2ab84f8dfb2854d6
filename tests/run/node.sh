# SPDX-License-Identifier: MIT
#
# node.sh - what runs in the test runner of Node: groups, and some of their files on other shards, servers and builds.

# The groups that run again on the other servers, see tests/servers.sh.
readonly -A ON_SERVERS=([redis8]="lua documents" [valkey8]="lua")
# But not what verbs cost without vector sets, which takes minutes to measure (Redis 8 has them, and cost.test.mjs plays
# nothing else there), nor files of documents that are about something else: others store, find and delete vectors.
# What the queue and topics do runs on both, what each service adds on one of them: vectors on Redis 8.
readonly -A NOT_ON_SERVERS=([valkey8]="lua/cost lua/documents/" [redis8]="lua/bots/ lua/workflow/
    documents/handbook documents/handbook_code documents/letters documents/no_child documents/no_pdftotext documents/oidc
    documents/oidc_provider documents/turns documents/upload documents/upload_blocks")
# Those that run again on four shards. Not lua: a script acts on one shard, and how many there are is an argument of its
# turn, which its tests name. The random models of several shards run on two and four in any case.
readonly ON_SHARDS="http documents workflow bots cluster"
# The files that run again with nodes that serve HTTPS: what depends on how a node reads and writes its connections.
readonly ON_TLS="http/add_wait http/bad_http http/sse http/unread http/strangers http/strangers_memory http/strangers_streams http/waits
    cluster/client_leaves cluster/next_leaves bots/room_socket workflow/websocket
    documents/indexing_socket"
# What takes Redis over TLS, and so hiredis 1, which Debian 12 has not.
readonly ON_HIREDIS1=tests/cluster/redis_over_tls.test.mjs

# What these files run, and nothing else: the program under test, which scripts in tests/lua do without, and what
# ships, for tests that measure memory. PARLEY_BIN stands for both.
build_programs() {
    local file needs_program=no
    if [ -n "${PARLEY_BIN:-}" ]; then
        [ -x "$PARLEY_BIN" ] || {
            fail "PARLEY_BIN names no program: $PARLEY_BIN"
            return 1
        }
        return 0
    fi
    for file; do
        case $file in tests/lua/*) ;; *) needs_program=yes ;; esac
    done
    [ $needs_program = no ] || build dev parley || return 1
    if grep -q '\bRELEASE_BIN\b' "$@" /dev/null; then build release parley || return 1; fi
}

# run_node NAME FILES...: one run of Node's test runner.
run_node() {
    local name=$1 counts=$OUT/$1.counts ok bad skip status=0 flags=()
    shift
    heading "$name ($# files)"
    if [ ! -f "${1:-}" ]; then
        fail "$name: no test found"
        return 0
    fi
    ! node --help | grep -q -e --test-concurrency || flags+=("--test-concurrency=$JOBS")
    [ -z "$name_pattern" ] || flags+=(--test-name-pattern="$name_pattern")
    case ${PARLEY_TEST_TLS:-} in
    '') ;;
    1) local -x PARLEY_TEST_TLS NODE_EXTRA_CA_CERTS && PARLEY_TEST_TLS=$(tests/tls.sh) && NODE_EXTRA_CA_CERTS=$PARLEY_TEST_TLS/ca.pem ;;
    *) local -x NODE_EXTRA_CA_CERTS=$PARLEY_TEST_TLS/ca.pem ;;
    esac
    rm -f "$counts" "$OUT/$name.failed"
    FAILURES_GROUP=$name FAILED_FILES=$PWD/$OUT/$name.failed timeout -s INT -k 20 $GROUP_SECONDS \
        node --require ./tests/note_failure.cjs --test "${flags[@]}" \
        --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=./tests/count.mjs --test-reporter-destination="$counts" "$@" || status=$?
    if ! read -r ok bad skip <"$counts"; then
        fail "$name: the runner did not finish (status $status)"
        return 0
    fi
    [ "$bad" -gt 0 ] || [ $status -eq 0 ] || fail "$name: the runner ended with status $status"
    count "$ok" "$bad"
    skipped=$((skipped + skip))
    [ "$bad" -eq 0 ] || [ ! -f "$OUT/$name.failed" ] ||
        sed "s,^,$name $bad ${PARLEY_TEST_SHARDS:-1} ${PARLEY_TEST_SERVERS:-1} ${PARLEY_BIN:--} ${PARLEY_TEST_REDIS:--} ," "$OUT/$name.failed" >>$OUT/again
}

run_node_group() {
    local files
    mapfile -t files < <(find "tests/$1" -name '*.test.mjs' 2>/dev/null | sort)
    build_programs "${files[@]}" || return 0
    run_node "$1" "${files[@]}"
}

# On four shards, with what is shipped, and most on two servers. Files whose clusters say themselves how many they have
# (ownShards) are what they were. All other groups run under sanitizers.
run_shards() {
    local group files servers
    for group in $ON_SHARDS; do
        mapfile -t files < <(find "tests/$group" -name '*.test.mjs' -exec grep -L '^ownShards()' {} + 2>/dev/null | sort)
        build_programs "${files[@]}" || return 0
        [ -n "${PARLEY_BIN:-}" ] || build release parley || return 0
        servers=2
        [ "$group" != cluster ] || servers=1
        PARLEY_TEST_SHARDS=4 PARLEY_TEST_SERVERS=$servers PARLEY_BIN=${PARLEY_BIN:-build/release/parley} run_node "shards-$group" "${files[@]}"
    done
}

# With a build of its own, unless the installed hiredis does and the group cluster has run it.
run_hiredis1() {
    local bin status=0
    [ -z "${PARLEY_BIN:-}" ] || return 0
    ! pkg-config --atleast-version=1.0 hiredis || return 0
    bin=$(tests/hiredis.sh 2>"$OUT/hiredis.log") || status=$?
    if [ $status -eq 3 ]; then
        skipped=$((skipped + 1))
        cat "$OUT/hiredis.log"
    elif [ $status -ne 0 ]; then
        fail "the build with hiredis 1" "$(<"$OUT/hiredis.log")"
    else
        PARLEY_BIN=$bin run_node hiredis1 $ON_HIREDIS1
    fi
}

run_tls() {
    local names files
    read -r -d '' -a names <<<"$ON_TLS" || true
    files=("${names[@]/#/tests/}")
    files=("${files[@]/%/.test.mjs}")
    build_programs "${files[@]}" || return 0
    PARLEY_TEST_TLS=$(tests/tls.sh) run_node tls "${files[@]}"
    run_hiredis1
}

# What depends on the server's kind runs on each of the others too.
run_servers() {
    local server path files group status name except
    for server in redis8 valkey8; do
        files=() status=0 except=()
        for name in ${NOT_ON_SERVERS[$server]}; do
            case $name in
            */) except+=(! -path "tests/$name*") ;;
            *) except+=(! -path "tests/$name.test.mjs") ;;
            esac
        done
        for group in ${ON_SERVERS[$server]}; do
            mapfile -t -O ${#files[@]} files < <(find "tests/$group" -name '*.test.mjs' "${except[@]}" | sort)
        done
        path=$(tests/servers.sh $server) || status=$?
        build_programs "${files[@]}" || return 0
        if [ $status -eq 3 ]; then
            skipped=$((skipped + ${#files[@]}))
        elif [ $status -ne 0 ]; then
            fail "$server cannot be fetched"
        else
            PARLEY_TEST_REDIS=$path run_node "$server" "${files[@]}"
        fi
    done
}
