# SPDX-License-Identifier: MIT
#
# release.sh - what `./dev release` makes of a commit, in build/release-VERSION: the sources, a Debian package that is built
# from them, a container image, notes from CHANGELOG.md, and checksums. It publishes nothing.

release_is_dry=no release_without=' '

# read_release ARGS...: its flags.
read_release() {
    while [ $# -gt 0 ]; do
        case $1 in
        --dry-run) release_is_dry=yes ;;
        --without)
            case ${2:-} in
            package | image) release_without+="$2 " ;;
            *) die "--without takes package or image, not '${2:-}'" ;;
            esac
            shift
            ;;
        *) die "release takes --dry-run and --without package|image, not '$1'" ;;
        esac
        shift
    done
}

is_left_out() { [[ $release_without == *" $1 "* ]]; }

# The section of a version in CHANGELOG.md, without its heading.
changes_of() { awk -v heading="## $1 " '/^## / { here = index($0, heading) == 1; next } here' CHANGELOG.md; }

# One line for each reason why HEAD is no release.
release_faults() {
    local version=$1 heading tagged
    [ -z "$(git status --porcelain)" ] ||
        say "there are changes that are not committed (git status): a release is made of a commit"
    { perl tests/lint/versions.pl >/dev/null; } 2>&1 || true
    heading=$(sed -nE "s/^## ${version//./\\.} \((.*)\)$/\1/p" CHANGELOG.md)
    case $heading in
    '') ;; # versions.pl says so
    [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) ;;
    *) say "CHANGELOG.md dates $version '$heading': write ## $version ($(date +%F)) and commit it" ;;
    esac
    tagged=$(git rev-parse -q --verify "v$version^{commit}" || true)
    [ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] ||
        say "the tag v$version is on another commit (${tagged:0:12}): perl tests/lint/versions.pl --set writes the next version"
}

# The same bytes from the same commit, no matter who makes it and when.
make_archive() {
    git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="parley-$1/" HEAD | gzip -9n >"$2"
}

# What a page of a release shows: a link into the checkout leads nowhere there.
make_notes() {
    printf '# Parley %s\n' "$1"
    changes_of "$1" | perl -0777 -pe 's/\[([^]]*)\]\((?![a-z]+:)[^)]*\)/$1/g'
    # shellcheck disable=SC2016
    printf '\nMade of commit %s. `sha256sum -c SHA256SUMS` checks what was downloaded.\n' "$(git rev-parse HEAD)"
}

# From the sources that are released, unpacked: what is missing in them shows here. The same sources and compiler make the
# same package, wherever and whenever.
make_package() {
    local from=$1 to=$2 flags=${CFLAGS:-}
    # CMake takes each word of CFLAGS for a flag, so a folder with spaces in its name stays in the program.
    [[ $PWD == *[[:space:]]* ]] || flags+=" -ffile-prefix-map=$PWD/$from=."
    env -u PARLEY_BIN SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" CFLAGS="$flags" \
        "$from/dev" package >var/log/release-package.log 2>&1 || {
        tail -n 20 var/log/release-package.log >&2
        die "the package could not be built from the sources in $from; all that was said is in var/log/release-package.log"
    }
    cp "$from"/build/package/parley_*.deb "$to/"
}

# Prints what builds images here, or nothing. Docker without its daemon builds none.
image_builder() {
    if command -v podman >/dev/null; then
        echo podman
    elif docker info >/dev/null 2>&1; then
        echo docker
    fi
}

make_image() {
    local builder=$1 version=$2 from=$3 to=$4
    "$builder" build -t "parley:$version" "$from" >var/log/release-image.log 2>&1 || {
        tail -n 20 var/log/release-image.log >&2
        die "the image could not be built (var/log/release-image.log); --without image leaves it out"
    }
    "$builder" save "parley:$version" | gzip -n >"$to/parley-$version-image.tar.gz"
}

# What is made and what is not, and why.
say_release_plan() {
    local version=$1 builder=$2
    say "Parley $version, commit $(git rev-parse --short=12 HEAD), in build/release-$version:"
    say "  parley-$version.tar.gz, NOTES.md, SHA256SUMS"
    if is_left_out package; then say "  no Debian package (--without package)"; else say "  a Debian package, built from these sources"; fi
    if is_left_out image; then
        say "  no container image (--without image)"
    elif [ -z "$builder" ]; then
        say "  no container image: there is no podman here, and no docker whose daemon answers"
    else
        say "  a container image, made by $builder"
    fi
}

say_next_steps() {
    local version=$1 to=$2
    cat <<TEXT

To publish it:
  git tag -a v$version -m "Parley $version" $(git rev-parse --short=12 HEAD) && git push origin v$version
  upload the files of $to, with NOTES.md as the text
Then begin the next version, here 0.X.0:
  perl tests/lint/versions.pl --set 0.X.0 && git commit -am "changes: 0.X.0 begins"
TEXT
}

release() {
    local version faults fault to from builder
    git rev-parse HEAD >/dev/null || die "a release is made of a git checkout"
    version=$(perl tests/lint/versions.pl --print)
    faults=$(release_faults "$version")
    if [ -n "$faults" ]; then
        while read -r fault; do warn "$fault"; done <<<"$faults"
        die "HEAD is no release of $version yet"
    fi
    builder=$(image_builder) to=build/release-$version from=build/release-source/parley-$version
    say_release_plan "$version" "$builder"
    [ "$release_is_dry" = no ] || return 0
    rm -rf "$to" build/release-source
    mkdir -p "$to" build/release-source
    make_archive "$version" "$to/parley-$version.tar.gz"
    make_notes "$version" >"$to/NOTES.md"
    tar -xzf "$to/parley-$version.tar.gz" -C build/release-source
    is_left_out package || make_package "$from" "$to"
    if [ -n "$builder" ] && ! is_left_out image; then make_image "$builder" "$version" "$from" "$to"; fi
    rm -rf build/release-source
    (cd "$to" && sha256sum -- * >../sums && mv ../sums SHA256SUMS && cat SHA256SUMS)
    say_next_steps "$version" "$to"
}
