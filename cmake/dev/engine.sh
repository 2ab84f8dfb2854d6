# SPDX-License-Identifier: MIT
#
# engine.sh - the reference engine: its model, its settings, and replacing the one that runs.

engine_help() {
    cat <<TEXT
usage: ./dev engine [FLAGS]

Replaces the engine that ./dev up or ./dev cluster started. The settings are checked first: what is wrong
with them is reported in one line, and the engine that runs continues. Otherwise it is stopped, gives its
questions back, and the new one gets them: two never answer side by side.

  ./dev engine --llm http://127.0.0.1:11434/v1 --model llama3
               a model server that speaks the OpenAI protocol (Ollama, llama.cpp, vLLM)
  ./dev engine --llm URL --model NAME --llm-key-file FILE
               one that wants a key
  ./dev engine --corpus DIR
               the built-in model over documents of yours instead of docs/handbook
  ./dev engine
               the built-in model over docs/handbook again; so does ./dev up
  ./dev engine --llm URL --model NAME --check-config
               only prints what would run

FLAGS are those of \`parley engine\` ($PARLEY engine --help). --url, --user, --secret-file,
--corpus and --index are set already, for the nodes that run here; what you give goes before that.

Without an engine questions wait, and /ask answers that none is connected. ./dev logs engine follows it,
./dev down stops it with the rest.
TEXT
}

# Waits until the engine pulls, which it does when it has read its documents: a large folder takes longer.
wait_engine() {
    local tries=$((START_SECONDS * 10))
    until grep -q '^parley engine: pulling' var/log/engine.log; do
        if ! pid_of engine >/dev/null; then
            tail -n 20 var/log/engine.log >&2
            rm -f var/run/engine.pid
            die "the engine ended at its start, so none runs now: $DEV engine starts the built-in one"
        fi
        if [ $tries -eq 0 ]; then
            say "it still reads the documents, and answers after that; $DEV logs engine follows it"
            return
        fi
        tries=$((tries - 1))
        sleep 0.1
    done
}

# start_engine N [ARGS]: pulls from nodes 1 to N. ARGS are flags of `parley engine`. The one that runs is
# replaced, after the new one's settings were found good.
start_engine() {
    local urls="" i run found model corpus others="none runs"
    for ((i = 1; i <= $1; i++)); do urls+=${urls:+,}http://127.0.0.1:$(port_of "node$i"); done
    run=("$PARLEY" engine --url "$urls" --user Inference_1 --secret-file "$SECRETS/Inference_1"
        --corpus docs/handbook --index var/handbook.index "${log_args[@]}" "${@:2}")
    ! pid_of engine >/dev/null || others="the one that runs continues"
    found=$("${run[@]}" --check-config) || die "no engine was started; $others"
    model=$(sed -n 's/^model: //p' <<<"$found")
    corpus=$(sed -n 's/^corpus: \(.*\), embedded by .*/\1/p' <<<"$found")
    case "$model ${*:2}" in built-in*' --model'[=\ ]*)
        die "--model needs --llm URL: where that model's server answers. No engine was started; $others"
        ;;
    esac
    case " ${*:2}" in *' --check-config'*)
        say "$found"
        return
        ;;
    esac
    if runs_as engine "${run[@]}"; then
        say "engine runs already: $model, over the documents in $corpus"
        return
    fi
    launch engine "${run[@]}"
    wait_engine
    say "started engine: $model, over the documents in $corpus"
}

# The flags for the model server that PARLEY_LLM_URL and PARLEY_MODEL name, one a line; none without them.
model_args() {
    PARLEY_LLM_URL=${PARLEY_LLM_URL:-${PARLEY_LLM:-}} # the name that docker compose takes
    [ -n "$PARLEY_LLM_URL" ] || return 0
    [ -n "${PARLEY_MODEL:-}" ] || die "PARLEY_LLM_URL is set, but PARLEY_MODEL is not"
    printf '%s\n' --llm "$PARLEY_LLM_URL" --model "$PARLEY_MODEL"
}

# Prints flags, each ended by a NUL, with the paths in them as they are from here.
from_caller() {
    local arg is_path=no
    for arg; do
        case $is_path$arg in
        yes/* | yes-* | yes) ;;
        yes*) [ "$CALLER" -ef . ] || arg=$CALLER/$arg ;;
        no--*=/* | no--*=) ;;
        no--corpus=* | no--*-file=* | no--index=* | no--config=*)
            [ "$CALLER" -ef . ] || arg=${arg%%=*}=$CALLER/${arg#*=}
            ;;
        esac
        case $arg in --corpus | --*-file | --index | --config) is_path=yes ;; *) is_path=no ;; esac
        printf '%s\0' "$arg"
    done
}

# What a shell still exports must not make `./dev engine` start a different engine.
engine() {
    local n arg args
    for arg; do
        case $arg in -h | --help)
            engine_help
            return
            ;;
        esac
    done
    [ -x "$PARLEY" ] || die "there is no build: $DEV up makes one, and starts a node"
    n=$(names_running node | grep -c . || true)
    pid_of node1 >/dev/null || die "no node runs: start one with $DEV up"
    unset PARLEY_LLM_URL PARLEY_LLM PARLEY_MODEL
    mapfile -t -d '' args < <(from_caller "$@")
    start_engine "$n" "${args[@]}"
}
