#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""collect.py - a folder of public documents, one subfolder for each type, for judge.py.

Takes clones of the repositories in sources.tsv, at any place and with any names, and writes the files that
the named commits hold: no file twice, at most as many of each type as LIMITS says, in turns from each
repository, always the same ones. Unpacked books become EPUB files. Marked articles get their right text
beside them, as NAME.right. The folder of a text is the encoding that its source names.

usage: collect.py FOLDER CLONE...
"""
import collections
import functools
import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
LARGEST = 4 << 20
POINTER = b"version https://git-lfs"  # the content is elsewhere
LIMITS = {"pdf": 1000, "docx": 520, "html": 400, "text": 400, "source": 100, "xlsx": 150, "pptx": 150, "odt": 150}
OTHERS, BOOKS = 120, 50
EXTENSIONS = "pdf docx pptx xlsx odt ods odp epub rtf csv json xml eml".split()
CODE = ".c .h .cc .py .js .java .cs .go .rs .rb .lua .sh .sql .pl .php .hs .ts .css .yaml .yml".split()
ENCODED = [
    r"tests/(?P<encoding>[^/]+)/[^/]+\.(txt|xml|html)$",
    r"test/[a-z]{2}/(?P<encoding>[^/.]+)\.txt$",
    r"tests/Data/(?P<encoding>[^/]+)/[^/]+\.txt$",
]
DETECTORS = ("chardet/chardet", "freedesktop/uchardet", "CharsetDetector/UTF-unknown")


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, *arguments], stdout=subprocess.PIPE, check=True).stdout


@functools.lru_cache(maxsize=None)
def reader(clone):
    command = ["git", "-C", clone, "cat-file", "--batch"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def show(clone, blob):
    """The content of a blob: a repository has one process for all of them."""
    pipes = reader(clone)
    pipes.stdin.write(blob.encode() + b"\n")
    pipes.stdin.flush()
    size = int(pipes.stdout.readline().split()[2])
    content = pipes.stdout.read(size)
    pipes.stdout.read(1)
    return content


def sources(clones):
    """Repository and commit of each clone that has a commit of sources.tsv."""
    with open(os.path.join(HERE, "sources.tsv"), encoding="utf-8") as lines:
        wanted = [line.split() for line in lines if not line.startswith("#")]
    for repository, commit in wanted:
        for clone in clones:
            if not subprocess.run(["git", "-C", clone, "cat-file", "-e", commit + "^{commit}"], capture_output=True).returncode:
                yield repository, commit, clone
                break
        else:
            print("not cloned: %s at %s" % (repository, commit), file=sys.stderr)


def tree(clone, commit):
    for entry in git(clone, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
        if not entry:
            continue
        about, path = entry.split(b"\t", 1)
        _, kind, blob, size = about.split()
        if kind == b"blob" and size.isdigit() and 0 < int(size) <= LARGEST:
            yield path.decode("utf-8", "replace"), blob.decode()


def kind_of(repository, path):
    """The type of a file, and the extension it gets; None for what is not judged."""
    end = os.path.splitext(path)[1].lower()
    if repository in DETECTORS:
        for pattern in ENCODED:
            found = re.match(pattern, path)
            if found:
                return "text/" + re.sub(r"^(iso-8859|windows)(-\d+).*", r"\1\2", found["encoding"].lower()), ".txt"
    if repository == "apache/james-mime4j" and end == ".msg":
        return "eml", ".eml"
    if end[1:] in EXTENSIONS:
        return end[1:], end
    return ("source", end) if end in CODE else None


def name_of(repository, path, blob, end):
    stem = re.sub(r"[^\w.-]+", "_", os.path.splitext(os.path.basename(path))[0])[:60]
    return "%s+%s-%s%s" % (repository.replace("/", "+"), stem, blob[:6], end)


def choose(candidates, limit):
    """Takes from each repository in turn, in the order of the blobs' names, which is as good as chance."""
    by_repository = collections.defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: c[2]):
        by_repository[candidate[0]].append(candidate)
    chosen = []
    while len(chosen) < limit and any(by_repository.values()):
        for queue in by_repository.values():
            if queue and len(chosen) < limit:
                chosen.append(queue.pop())
    return chosen


def write(folder, kind, name, content, right=None):
    path = os.path.join(folder, kind, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for end, data in (("", content), (".right", right)):
        if data is not None:
            with open(path + end, "wb") as out:
                out.write(data)


def articles(folder, repository, commit, clone):
    """Web pages whose article is marked: the benchmark's by hand, Readability's as its tests expect it."""
    files = dict(tree(clone, commit))
    if "ground-truth.json" in files:
        for key, entry in json.loads(show(clone, files["ground-truth.json"])).items():
            page = gzip.decompress(show(clone, files["html/%s.html.gz" % key]))
            write(folder, "html", "benchmark-%s.html" % key, page, entry["articleBody"].encode())
    for path, blob in files.items():
        if repository == "mozilla/readability" and path.endswith("/expected.html"):
            page = files[path.replace("expected.html", "source.html")]
            name = "readability-%s.html" % path.split("/")[-2]
            write(folder, "html", name, show(clone, page), show(clone, blob))


def books(folder, repository, commit, clone):
    """Packs each folder with a META-INF/container.xml as an EPUB file."""
    files = dict(tree(clone, commit))
    roots = [path[: -len("META-INF/container.xml")] for path in files if path.endswith("/META-INF/container.xml")]
    for root in sorted(roots)[:BOOKS]:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as book:
            book.writestr("mimetype", "application/epub+zip")
            for path, blob in files.items():
                if path.startswith(root) and path != root + "mimetype":
                    book.writestr(path[len(root):], show(clone, blob), zipfile.ZIP_DEFLATED)
        if packed.tell() <= 2 * LARGEST:
            write(folder, "epub", "%s+%s.epub" % (repository.replace("/", "+"), root.strip("/").split("/")[-1]), packed.getvalue())


def main(folder, clones):
    candidates, seen = collections.defaultdict(list), set()
    for repository, commit, clone in sources(clones):
        articles(folder, repository, commit, clone)
        books(folder, repository, commit, clone)
        for path, blob in tree(clone, commit):
            kind = kind_of(repository, path)
            if kind and blob not in seen:
                seen.add(blob)
                candidates[kind[0]].append((repository, path, blob, kind[1], clone))
    encodings = sum(kind.startswith("text/") for kind in candidates)
    for kind, files in candidates.items():
        limit = LIMITS["text"] // max(encodings, 1) if kind.startswith("text/") else LIMITS.get(kind, OTHERS)
        for repository, path, blob, end, clone in choose(files, limit):
            content = show(clone, blob)
            if not content.startswith(POINTER):
                write(folder, kind, name_of(repository, path, blob, end), content)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
