# SPDX-License-Identifier: MIT
#
# build.sh - building the presets of CMakePresets.json, and a Debian package.

presets() { sed -nE 's/.*\{"name": "([a-z]+)", "inherits".*/\1/p' CMakePresets.json | paste -s -d ' '; }
is_preset() { [[ " $(presets) " == *" $1 "* ]]; }

# A folder of CMake's is of the place where it was made: of another one it would build the sources there, or
# nothing. What fuzz targets have found stays.
drop_moved_build() {
    local dir=$1 home
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null) || return 0
    if [ -z "$home" ] || [ "$home" -ef . ]; then return 0; fi
    say "$dir was made in $home: building it from the beginning"
    find "$dir" -mindepth 1 -maxdepth 1 ! -name corpus -exec rm -rf {} +
}

# build [PRESET [TARGET...]]
build() {
    local preset=${1:-release} targets=("${@:2}")
    is_preset "$preset" || die "no such preset: $preset (CMakePresets.json has: $(presets))"
    drop_moved_build "build/$preset"
    if [ ! -f "build/$preset/build.ninja" ]; then
        cmake --preset "$preset" >"var/log/cmake-$preset.log" 2>&1 || {
            cat "var/log/cmake-$preset.log" >&2
            die "cmake could not configure the preset $preset"
        }
    fi
    cmake --build "build/$preset" ${targets:+--target "${targets[@]}"}
}

# The web app, from its sources in services/web/app into its dist, which is committed.
web() {
    (cd "$APP" && npm run --silent build)
    say "built $APP/dist: commit it with its sources"
}

# Pages that are made of the sources, for readers of a checkout.
docs() {
    mkdir -p build/docs
    perl cmake/verbs.pl --page >build/docs/verbs.md
    perl cmake/handbook.pl --questions docs/handbook/*.md >build/docs/questions.md
    perl cmake/routes.pl --openapi >build/docs/openapi.yaml
    say "made in build/docs: openapi.yaml, every route; verbs.md, every verb of lua/; questions.md, every question that the handbook answers"
}

# In a folder of its own: only what is out of date changes in build/release, where other programs may run.
package() {
    local file
    rm -rf build/package
    build release
    cpack -G DEB --config build/release/CPackConfig.cmake -B build/package >var/log/cpack.log 2>&1 || {
        cat var/log/cpack.log >&2
        die "cpack could not make the package"
    }
    rm -rf build/package/_CPack_Packages
    file=$(ls build/package/parley_*.deb)
    say "$file: sudo apt install ./$file"
}

# What up, cluster and bench run.
build_ours() {
    if [ -z "${PARLEY_BIN:-}" ]; then
        build release
    elif [ ! -x "$PARLEY_BIN" ]; then
        die "PARLEY_BIN names no program: $PARLEY_BIN"
    fi
}
