#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py - recall and noise of `parley extract` over a folder of files, by type, against independent tools.

Recall is the share of words that every tool reads in a file and Parley prints, noise the share of words that
Parley prints and no tool reads. Words are counted with repetitions, after NFKC and case folding; letters of
scripts that use no spaces count one by one. A word that one side writes in two or three pieces (10^6, 106;
co-operate, cooperate) is right. In rows and data, which repeat their heads and names on purpose, a repeated
word is no noise. Of a PDF, what stands near the edge of several pages counts once. Words of scripts that are written
from the right may be in either order: some tools print them as they are drawn. With two programs, files that
the second reads worse by more than two points are listed.

usage: judge.py [--types A,B] [--worst N] [--show FILE] FOLDER PARLEY [PARLEY]
"""
import argparse
import collections
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import unicodedata

import references

MEMORY_BYTES = 4 << 30
LIMIT_S, LEAST_WORDS, BATCH, EDGE = 60, 5, 20, 4
WITH_HEADS = ("xlsx", "ods", "csv", "json", "xml")
UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
RAISED = re.compile(r"(?<=\w)[\^_](?=\w)")
HEADING_ID = re.compile(r" \{#[^}\s]*\}$", re.M)
FROM_THE_RIGHT = re.compile("[\u0590-\u08ff]")
WORD = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|[^\\W_]+?(?=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[\\W_]|$)")


def words(text):
    folded = unicodedata.normalize("NFKC", UNSEEN.sub("", HEADING_ID.sub("", text))).casefold()
    return [min(word, word[::-1]) if FROM_THE_RIGHT.match(word) else word for word in WORD.findall(RAISED.sub("", folded))]


def join(left, right, order):
    """Takes out words of left that are two or three neighbours of right written together; how many each side lost."""
    taken_left = taken_right = 0
    for size in (2, 3):
        for at in range(len(order) - size + 1):
            pieces = order[at : at + size]
            whole = "".join(pieces)
            if left.get(whole) and all(right.get(piece, 0) >= pieces.count(piece) for piece in pieces):
                left[whole] -= 1
                right.subtract(pieces)
                taken_left, taken_right = taken_left + 1, taken_right + size
    return taken_left, taken_right


def once(text):
    """A text whose lines near the edges of several pages, which differ in numbers at most, are there once."""
    pages = [[line for line in page.split("\n") if line.strip()] for page in text.split("\f")]
    edges = collections.Counter(key for page in pages for key in {digitless(line) for line in page[:EDGE] + page[-EDGE:]})
    seen, kept_lines = set(), []
    for page in pages:
        for at, line in enumerate(page):
            key = digitless(line)
            is_furniture = edges[key] > 1 and (at < EDGE or at >= len(page) - EDGE)
            if not is_furniture or key not in seen:
                kept_lines.append(line)
            if is_furniture:
                seen.add(key)
    return "\n".join(kept_lines)


def digitless(line):
    return re.sub(r"\d+", "0", line.strip())


def shared(ours, theirs):
    """How many words of ours theirs has, and how many of theirs ours has."""
    a, b = collections.Counter(ours), collections.Counter(theirs)
    both = sum((a & b).values())
    a, b = a - b, b - a
    whole_a, pieces_b = join(a, b, theirs)
    whole_b, pieces_a = join(b, a, ours)
    return both + whole_a + pieces_a, both + whole_b + pieces_b


def recall_and_noise(kind, printed, texts, extra=""):
    """Compares with what all tools read, then with what any of them reads."""
    read = [words(text) for text in texts]
    known = union([*read, words(extra)])
    ours, agreed = words(printed), agreement([words(once(text)) for text in texts] if kind == "pdf" else read)
    recall = shared(ours, agreed)[1] / len(agreed)
    if not ours:
        return recall, 0
    if kind in WITH_HEADS:
        known = set(known)
        return recall, sum(word not in known for word in ours) / len(ours)
    return recall, 1 - max(shared(ours, theirs)[0] for theirs in [*read, known]) / len(ours)


def agreement(read):
    """The words that all tools read, in the first one's order; the longest text if they agree on too little."""
    agreed = read[0]
    for theirs in read[1:]:
        left = collections.Counter(theirs)
        agreed = [word for word in agreed if take(left, word)]
    return agreed if len(agreed) >= LEAST_WORDS else max(read, key=len)


def union(read):
    """The words of all tools, each as often as the tool that has it most."""
    everything = list(read[0])
    for theirs in read[1:]:
        known = collections.Counter(everything)
        everything += [word for word in theirs if not take(known, word)]
    return everything


def take(counter, word):
    if counter[word] <= 0:
        return False
    counter[word] -= 1
    return True


def kept(path, tool):
    folder, name = os.path.split(path)
    return os.path.join(folder, ".references", "%s.%s" % (name, tool))


def keep(path, tool, text):
    os.makedirs(os.path.dirname(kept(path, tool)), exist_ok=True)
    with open(kept(path, tool), "w", encoding="utf-8", errors="replace") as out:
        out.write(text)


class Asker:
    """A process that asks tools about files, one at a time, and is replaced when one takes too long."""

    def __init__(self):
        self.pool = None

    def ask(self, path, tool):
        """The text of one tool, "" if it fails or takes too long."""
        if self.pool is None:
            self.pool = multiprocessing.Pool(1, resource.setrlimit, (resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)))
        try:
            return self.pool.apply_async(getattr(references, tool), (path,)).get(LIMIT_S)
        except multiprocessing.TimeoutError:
            self.pool.terminate()
            self.pool = None
        except Exception as error:
            print("no reference: %s: %s: %r" % (tool, path, error), file=sys.stderr)
        return ""


def prepare(kind, paths):
    """Asks the tools about files that they have not seen yet."""
    asker = Asker()
    for tool in references.TOOLS[kind]:
        tool = tool.lstrip("+")
        missing = [path for path in paths if not os.path.exists(kept(path, tool))]
        if tool == "office":
            for at in range(0, len(missing), BATCH):
                for path, text in references.offices(missing[at : at + BATCH]).items():
                    keep(path, tool, text)
            missing = [path for path in missing if not os.path.exists(kept(path, tool))]
        for path in missing:
            keep(path, tool, asker.ask(path, tool))


def reference(kind, path):
    """The text of each tool that reads something of a file, and what else is no noise; nothing if none does."""
    texts, extra = [], ""
    for tool in references.TOOLS[kind]:
        text = references.utf8(kept(path, tool.lstrip("+")))
        if tool[0] == "+":
            extra = text
        elif len(words(text)) >= LEAST_WORDS:
            texts.append(text)
    return (texts, extra) if texts else None


def extract(program, path):
    """What Parley prints, or None and its fault."""
    try:
        done = subprocess.run([program, "extract", path], capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, "no end after %d s" % LIMIT_S
    fault = done.stderr.decode("utf-8", "replace").strip().split(": ", 2)[-1]
    return (done.stdout.decode("utf-8", "replace"), "") if done.returncode == 0 else (None, fault or "exit %d" % done.returncode)


def judge(kind, path, read, program):
    printed, fault = extract(program, path)
    recall, noise = recall_and_noise(kind, printed, *read) if printed is not None else (0, 0)
    return {"path": path, "recall": recall, "noise": noise, "fault": fault, "words": len(words(read[0][0]))}


def mean(rows, value):
    return sum(row[value] for row in rows) / len(rows) if rows else 0


def line(rows):
    read = [row for row in rows if not row["fault"]]
    return "%4d read, recall %.3f, noise %.3f" % (len(read), mean(read, "recall"), mean(read, "noise"))


def shown(row):
    return "recall %.3f noise %.3f %s" % (row["recall"], row["noise"], row["fault"])


def files(folder, kind):
    for at, folders, names in os.walk(os.path.join(folder, kind)):
        folders[:] = [name for name in folders if name != ".references"]
        yield from (os.path.join(at, name) for name in sorted(names) if not name.endswith(".right"))


def judge_type(kind, arguments):
    paths = sorted(files(arguments.folder, kind))
    prepare(kind, paths)
    known = [(path, read) for path in paths for read in [reference(kind, path)] if read]
    results = [[judge(kind, path, read, program) for path, read in known] for program in arguments.parley]
    print("## %s: %d files, %d with at least %d words" % (kind, len(paths), len(known), LEAST_WORDS))
    for program, rows in zip(arguments.parley, results):
        print("%s  (%s)" % (line(rows), program))
    last = results[-1]
    if len(results) == 2:
        for before, after in zip(*results):
            if not before["fault"] and (before["recall"] - after["recall"] > 0.02 or after["noise"] - before["noise"] > 0.02):
                print("worse: %s\n       %s -> %s" % (after["path"], shown(before), shown(after)))
    bad = [row for row in last if row["recall"] < 0.95 or row["noise"] > 0.05]
    for row in sorted(bad, key=lambda r: r["recall"] - r["noise"])[: arguments.worst]:
        print("bad: %s (%d words) %s" % (row["path"], row["words"], shown(row)))
    sys.stdout.flush()


def show(path, program):
    """Prints which words of one file are missing and which are noise."""
    kind = os.path.abspath(path).split(os.sep)
    kind = next(part for part in reversed(kind) if part in references.TOOLS)
    prepare(kind, [path])
    read = reference(kind, path)
    printed, fault = extract(program, path)
    ours = collections.Counter(words(printed or ""))
    print(fault or "%s: recall %.3f, noise %.3f" % ((path,) + recall_and_noise(kind, printed or "", *read)))
    for text in read[0]:
        print("missing", dict((collections.Counter(words(once(text))) - ours).most_common(60)))
    print("noise", dict((ours - collections.Counter(union([words(text) for text in [*read[0], read[1]]]))).most_common(60)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--types", default=",".join(references.TOOLS))
    parser.add_argument("--worst", type=int, default=15)
    parser.add_argument("--show")
    parser.add_argument("folder")
    parser.add_argument("parley", nargs="+")
    arguments = parser.parse_args()
    if arguments.show:
        return show(arguments.show, arguments.parley[-1])
    for kind in arguments.types.split(","):
        judge_type(kind, arguments)


if __name__ == "__main__":
    main()
