#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh - the checks that need no running program. `run.sh` runs all, `run.sh NAME...` those named.
# Each prints how many files it looked at and fails if there were none. The first ones need only what
# the build and test packages bring; shell, lua, cppcheck and tidy run where their tool is installed.
# `run.sh --quick` names those that `./dev test` runs, `run.sh --slow` the two that take eight minutes and run nightly.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

readonly ALWAYS="app format boundaries structure headers lua_headers verbs routes lua_patterns buffers states text links settings versions questions prose words adr keys"
readonly WITH_TOOL="shell lua cppcheck tidy" SLOW="cppcheck tidy"

c_files() { find shared services tests -name '*.[ch]' -not -path '*/node_modules/*' | sort; }

# Fails unless something was looked at, and says how much.
looked_at() {
    local name=$1 n=$2
    [ "$n" -gt 0 ] || {
        echo "$name: found no file to look at" >&2
        return 1
    }
    echo "$name: looked at $n files, no finding"
}

check_format() {
    local files
    mapfile -t files < <(c_files)
    mkdir -p build/lint
    if ! clang-format-14 --dry-run -Werror "${files[@]}" >build/lint/format 2>&1; then
        sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: error: .*/\1/p' build/lint/format | sort -u |
            sed 's/$/: not laid out as .clang-format says; .\/dev fmt mends it/' | grep . >&2 || cat build/lint/format >&2
        return 1
    fi
    looked_at format ${#files[@]}
}

# The committed build of the web app is what its sources give, and they have no error of types.
check_app() {
    local app=services/web/app made=build/lint/app
    if [ ! -d $app/node_modules ]; then
        echo "app: skipped, ./dev web installs what its build takes"
        [ -z "${CI:-}" ]
        return
    fi
    rm -rf $made
    (cd $app && node_modules/.bin/tsc && node_modules/.bin/vite build --outDir "$OLDPWD/$made" --emptyOutDir &&
        node_modules/.bin/vite build --config vite.embed.config.js --outDir "$OLDPWD/$made")
    diff -r $app/dist $made >/dev/null || {
        echo "app: $app/dist is not what its sources give: ./dev web builds it" >&2
        return 1
    }
    looked_at app "$(find $app/src -name '*.ts*' | wc -l)"
}

check_boundaries() { perl tests/lint/boundaries.pl; }
check_structure() { perl tests/lint/structure.pl --check; }
check_lua_headers() { perl tests/lint/lua_headers.pl; }
# The page of verbs can be made: their headers have no fault.
check_verbs() {
    mkdir -p build/lint
    perl cmake/verbs.pl --page >build/lint/verbs.md
    looked_at verbs "$(grep -c '^### ' build/lint/verbs.md)"
}

# The description of all routes can be made: their rows have no fault.
check_routes() {
    mkdir -p build/lint
    perl cmake/routes.pl --openapi >build/lint/openapi.yaml
    looked_at routes "$(grep -c '^      operationId: ' build/lint/openapi.yaml)"
}

check_lua_patterns() { perl tests/lint/lua_patterns.pl; }
check_buffers() { perl tests/lint/buffers.pl; }
check_states() { perl tests/lint/states.pl; }
check_text() { perl tests/lint/text.pl; }
check_settings() { perl tests/lint/settings.pl; }
check_versions() { perl tests/lint/versions.pl; }
check_links() { perl tests/lint/links.pl; }
check_prose() { perl tests/lint/prose.pl; }
check_words() { perl tests/lint/words.pl; }
check_adr() { perl tests/lint/adr.pl; }
check_keys() { perl tests/lint/keys.pl; }

# The list of questions can be made, and so can the pages that nodes serve: none of their links leads nowhere.
check_questions() {
    mkdir -p build/lint
    perl cmake/handbook.pl build/lint/handbook.c services/web/page.css services/web/page.js docs/handbook/*.md docs/operations/*.md
    perl cmake/handbook.pl --questions docs/handbook/*.md >build/lint/questions.md
    looked_at questions "$(grep -c '^- ' build/lint/questions.md)"
}

# Every header compiles on its own, so that it can be included first and in any order. Of those that a C file includes first,
# the build has shown that.
check_headers() {
    local n bad flags
    mkdir -p build/lint
    perl cmake/verbs.pl build/lint/generated
    perl cmake/routes.pl build/lint/generated
    flags=$(pkg-config --cflags libh2o-evloop hiredis jansson libcurl yaml-0.1 libcrypto cmocka)
    find shared services -name '*.h' | sort >build/lint/headers
    find shared services tests -name '*.c' -not -path '*/node_modules/*' -exec \
        awk '/^#include/ { if (match($0, /"[^"]+"/)) print substr($0, RSTART + 1, RLENGTH - 2); nextfile }' {} + |
        sort -u | comm -23 build/lint/headers - >build/lint/headers.alone
    # shellcheck disable=SC2086
    xargs -P "$(nproc)" -I {} sh -c '"$@" || echo "headers: {} does not compile alone"' sh \
        cc -std=gnu11 -fsyntax-only -D_GNU_SOURCE -DH2O_USE_LIBUV=0 -DPARLEY_VERSION='"0"' \
        -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function -I. -Ibuild/lint ${flags//-I/-isystem } \
        -x c -include {} /dev/null <build/lint/headers.alone >build/lint/headers.bad
    bad=$(wc -l <build/lint/headers.bad) n=$(wc -l <build/lint/headers)
    cat build/lint/headers.bad >&2
    [ "$bad" -eq 0 ] && looked_at headers "$n"
}

# Programs, each with the files that it sources (-x -a), which name what it defines.
check_shell() {
    local files
    mapfile -t files < <(find dev .ci deploy k8s tests completions -type f -not -path '*/node_modules/*' \
        \( -name "*.bash" -o -perm -u+x \( -name "*.sh" -o -name dev -o -path '.ci/run' \) \) 2>/dev/null | sort)
    shellcheck -x -a "${files[@]}"
    looked_at shell ${#files[@]}
}

# luacheck sees the modules as Redis gets them, with what stands for `--- arguments`; its lines are the files'.
check_lua() {
    mkdir -p build/lint
    perl tests/lint/lua_headers.pl --expand build/lint/lua
    (cd build/lint/lua && luacheck -q --no-color --std lua51 --globals redis struct FUNCTION_NAME --ignore 212 \
        --no-max-line-length lua)
    looked_at lua "$(find build/lint/lua -name '*.lua' | wc -l)"
}

# Two of its checks misread our log macros and stores through out-parameters: the compilers and the
# sanitizers watch over both. The headers of Jansson are not read, so its loops are stated here.
check_cppcheck() {
    local files
    mapfile -t files < <(find shared services -name '*.c' | sort)
    mkdir -p build/lint
    perl cmake/verbs.pl build/lint/generated
    perl cmake/routes.pl build/lint/generated
    cat >build/lint/jansson_loops.h <<'TEXT'
#define json_array_foreach(list, i, item) for (i = 0; (item = json_array_get(list, i)) != 0; i++)
#define json_object_foreach(of, key, item) for (key = json_key(of); (item = json_item(key)) != 0; key = json_next(key))
TEXT
    cppcheck -q -j "$(nproc)" --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=syntaxError --suppress=uninitvar \
        -I. -Ibuild/lint -D_GNU_SOURCE -DPARLEY_VERSION='"0"' \
        --include=build/lint/jansson_loops.h "${files[@]}"
    looked_at cppcheck ${#files[@]}
}

check_tidy() {
    local files
    ./dev build dev parley >/dev/null
    mapfile -t files < <(find shared services -name '*.c' | sort)
    printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(nproc)" clang-tidy --quiet -p build/dev \
        --warnings-as-errors='*' \
        --checks='-*,clang-analyzer-core.*,clang-analyzer-unix.*,clang-analyzer-deadcode.*,-clang-analyzer-core.UndefinedBinaryOperatorResult,bugprone-sizeof-container,bugprone-suspicious-memset-usage,bugprone-suspicious-semicolon' \
        2>/dev/null
    looked_at tidy ${#files[@]}
}

tool_of() {
    case $1 in
    shell) echo shellcheck ;; lua) echo luacheck ;; cppcheck) echo cppcheck ;; tidy) echo clang-tidy ;;
    *) echo cc ;;
    esac
}

main() {
    local check status failed=0
    if [ "${1:-}" = --quick ]; then
        echo "$ALWAYS ${WITH_TOOL% "$SLOW"}"
        return
    elif [ "${1:-}" = --slow ]; then
        echo "$SLOW"
        return
    fi
    # shellcheck disable=SC2086
    [ $# -gt 0 ] || set -- $ALWAYS $WITH_TOOL
    for check in "$@"; do
        declare -F "check_$check" >/dev/null || {
            echo "lint: no such check: $check ($ALWAYS $WITH_TOOL)" >&2
            exit 2
        }
        if ! command -v "$(tool_of "$check")" >/dev/null; then
            echo "$check: skipped, $(tool_of "$check") is not installed"
            continue
        fi
        # Not as a condition, so that `set -e` holds inside.
        set +e
        (set -e && "check_$check")
        status=$?
        set -e
        [ $status -eq 0 ] || failed=$((failed + 1))
    done
    [ $failed -eq 0 ]
}

main "$@"
