#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""index.py - the steps of Parley's indexer in plain Python, to be measured beside it.

The same work by the same rules with the standard library only: cut the text into chunks of about
1,000 characters with an overlap of 150, embed each by feature hashing (words, pairs, trigrams; 512
dimensions, scaled to length 1, quantised to int8), count words for BM25, deflate the text in blocks of
8 KiB, and store all of it in Redis. Prints one JSON line.

usage: index.py FILE REDIS_PORT
"""
import json
import math
import re
import socket
import struct
import sys
import time
import zlib
from collections import Counter

CHARS, MAX_CHARS, OVERLAP, DIMENSION, BLOCK = 1000, 1200, 150, 512, 8192
STOP = set(
    "a an and are as at be been but by can do does for from had has have how i if in is it its more "
    "no not of on or our so such than that the their them then there these they this to was we were "
    "what when where which who why will with you your".split()
)
WORD = re.compile(r"\w+")


def stem(word):
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def cut(text):
    at, n = 0, len(text)
    while at < n:
        if n - at <= MAX_CHARS:
            yield at, n
            return
        end, half = at + CHARS, at + CHARS // 2
        for mark in ("\n\n", ". ", " "):
            found = text.rfind(mark, half, end)
            if found >= 0:
                end = found + len(mark)
                break
        yield at, end
        start = end - OVERLAP
        sentence, word = text.find(". ", start, end - 2), text.find(" ", start, end - 1)
        at = sentence + 2 if sentence >= 0 else word + 1 if word >= 0 else end


def embed(words):
    features = Counter()
    weights = {}
    before, before_stops = None, True
    for word in words:
        stops = word in STOP
        feature = ("w", word)
        features[feature] += 1
        weights[feature] = 0.1 if stops else 1.0
        if not stops:
            framed = "^" + word + "$"
            for i in range(len(framed) - 2):
                feature = ("t", framed[i : i + 3])
                features[feature] += 1
                weights[feature] = 0.25
        if before is not None:
            feature = ("p", before + " " + word)
            features[feature] += 1
            weights[feature] = 0.1 if stops or before_stops else 0.6
        before, before_stops = word, stops
    vector = [0.0] * DIMENSION
    for feature, count in features.items():
        code = zlib.crc32((feature[0] + feature[1]).encode())
        value = weights[feature] * (1 + math.log(count))
        vector[code % DIMENSION] += value if code >> 31 else -value
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]


def quantise(vector):
    scale = max(abs(x) for x in vector) / 127 or 1.0
    return struct.pack("<f", scale) + struct.pack(f"{len(vector)}b", *(round(x / scale) for x in vector))


class Redis:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%b\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))
        line = self.file.readline()
        if line[:1] == b"-":
            raise RuntimeError(line.decode())


def main():
    path, port = sys.argv[1], int(sys.argv[2])
    redis = Redis(port)
    begin = time.perf_counter()
    with open(path, "rb") as file:
        raw = file.read()
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    spans = list(cut(text))
    vectors, postings = [], {}
    for number, (start, end) in enumerate(spans):
        words = [stem(word) for word in WORD.findall(text[start:end].lower())]
        vectors.append(quantise(embed(words)))
        for word, count in Counter(word for word in words if word not in STOP).items():
            postings.setdefault(zlib.crc32(word.encode()), []).append((number << 8) | min(count, 255))
    pack = [struct.pack("<4sIIII", b"pack", len(spans), DIMENSION, len(postings), 0)]
    pack += [struct.pack("<II", start, end) for start, end in spans] + vectors
    for code in sorted(postings):
        items = postings[code]
        pack.append(struct.pack(f"<QI{len(items)}I", code, len(items), *items))
    fields = []
    for number, at in enumerate(range(0, len(raw), BLOCK)):
        fields += [number, zlib.compress(raw[at : at + BLOCK], 1)]
    redis.call("HSET", "text", *fields)
    redis.call("SET", "pack", b"".join(pack))
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": round(seconds, 4), "chunks": len(spans), "terms": len(postings)}))


main()
