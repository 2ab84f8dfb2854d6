#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readers.py - what the readers of documents take, by format: a file of about 100 KB, the largest
that is read (25 MiB, or less where its text would pass 32 MiB), and one made to take long.

`parley extract` reads each in its sandbox, one after the other. Prints a table: the processor time of all
its processes, and the memory of the largest of them. The files are made in a temporary folder.

usage: readers.py PARLEY [FORMAT...]
"""
import base64
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
import zlib

MIB = 1 << 20
LARGEST, TYPICAL = 25 * MIB - 4096, 100_000
OFFICE = "http://schemas.openxmlformats.org/"
RELATIONS = OFFICE + "officeDocument/2006/relationships"
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
ODF_SPACES = " ".join(f'xmlns:{n}="{ODF}{u}:1.0"' for n, u in
                      (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing")))
WORDS = random.Random(7)
VOCABULARY = ["".join(WORDS.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(WORDS.randint(2, 9))) for _ in range(20_000)]


def paragraphs(size):
    """Prose of so many bytes."""
    while size > 0:
        line = " ".join(WORDS.choices(VOCABULARY, k=60)) + "."
        size -= len(line) + 2
        yield line


def rows(size):
    """Rows of a name, a number and two words."""
    number = 0
    while size > 0:
        row = [WORDS.choice(VOCABULARY), str(number), WORDS.choice(VOCABULARY), WORDS.choice(VOCABULARY)]
        number += 7
        size -= sum(map(len, row)) + 4
        yield row


def package(parts, padding=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in parts:
            file.writestr(name, body)
        if padding > 0:
            file.writestr("media/noise.png", os.urandom(padding), zipfile.ZIP_STORED)
    return out.getvalue()


def relations(*list_of):
    inner = "".join(f'<Relationship Id="r{i}" Type="{RELATIONS}/{kind}" Target="{target}"/>' for i, (kind, target) in enumerate(list_of))
    return f'<Relationships xmlns="{OFFICE}package/2006/relationships">{inner}</Relationships>'


# ---- formats: the bytes of a document with about so much text; `more` is put into its main part ----

def text(size):
    return "\n\n".join(paragraphs(size)).encode()


def koi8(size):
    russian = "".join(chr(0x430 + ord(c) - 97) if c.isalpha() else c for c in "\n\n".join(paragraphs(size)))
    return russian.encode("koi8-r")


def html(size):
    return ("<title>x</title>" + "".join(f'<p class="a">{p} <a href="b">link</a></p>\n' for p in paragraphs(size))).encode()


def docx(size, more=""):
    body = more or "".join(f"<w:p><w:r><w:t>{p}</w:t></w:r></w:p>" for p in paragraphs(size))
    return [("word/document.xml", f'<w:document xmlns:w="{OFFICE}wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>')]


def pptx(size, slides=0):
    texts = list(paragraphs(size)) or ["x"] * slides
    together = len(texts) // 8_000 + 1 if size > 0 else 1
    texts = [" ".join(texts[i:i + together]) for i in range(0, len(texts), together)]
    slide = ('<p:sld xmlns:p="%spresentationml/2006/main" xmlns:a="%sdrawingml/2006/main"><p:sp><p:txBody><a:p><a:r><a:t>' % (OFFICE, OFFICE)) + \
        "%s</a:t></a:r></a:p></p:txBody></p:sp></p:sld>"
    inner = "".join(f'<p:sldId r:id="r{i}"/>' for i in range(len(texts)))
    return [("_rels/.rels", relations(("officeDocument", "ppt/presentation.xml"))),
            ("ppt/presentation.xml", f'<p:presentation xmlns:p="{OFFICE}presentationml/2006/main" xmlns:r="{RELATIONS}">{inner}</p:presentation>'),
            ("ppt/_rels/presentation.xml.rels", relations(*(("slide", f"s{i}.xml") for i in range(len(texts)))))] + \
           [(f"ppt/s{i}.xml", slide % t) for i, t in enumerate(texts)]


def xlsx(size, more=None):
    cell = '<c t="inlineStr"><is><t>%s</t></is></c>'
    sheets = more or ["".join(f"<row>{cell % a}<c><v>{b}</v></c>{cell % c}{cell % d}</row>" for a, b, c, d in rows(size))]
    space = f'xmlns="{OFFICE}spreadsheetml/2006/main"'
    inner = "".join(f'<sheet name="s{i}" r:id="r{i}"/>' for i in range(len(sheets)))
    return [("_rels/.rels", relations(("officeDocument", "xl/workbook.xml"))),
            ("xl/workbook.xml", f'<workbook {space} xmlns:r="{RELATIONS}"><sheets>{inner}</sheets></workbook>'),
            ("xl/_rels/workbook.xml.rels", relations(*(("worksheet", f"s{i}.xml") for i in range(len(sheets)))))] + \
           [(f"xl/s{i}.xml", f"<worksheet {space}><sheetData>{s}</sheetData></worksheet>") for i, s in enumerate(sheets)]


def odf(kind, body):
    return [("content.xml", f"<office:document-content {ODF_SPACES}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>")]


def odt(size):
    return odf("text", "".join(f"<text:p>{p}</text:p>" for p in paragraphs(size)))


def ods(size):
    cell = "<table:table-cell><text:p>%s</text:p></table:table-cell>"
    return odf("spreadsheet", "<table:table>" + "".join("<table:table-row>" + "".join(cell % c for c in r) + "</table:table-row>" for r in rows(size)) + "</table:table>")


def odp(size):
    return odf("presentation", "".join(f"<draw:page><draw:frame><text:p>{p}</text:p></draw:frame></draw:page>" for p in paragraphs(size)))


def epub(size, chapters=None):
    chapters = chapters or [html(min(size, 400_000)).decode() for _ in range(max(1, size // 400_000))]
    items = "".join(f'<item id="c{i}" href="c{i}.html" media-type="text/html"/>' for i in range(len(chapters)))
    refs = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    return [("META-INF/container.xml", '<container><rootfile full-path="b.opf"/></container>'), ("b.opf", f"<package>{items}{refs}</package>")] + \
           [(f"c{i}.html", c) for i, c in enumerate(chapters)]


def rtf(size):
    return ("{\\rtf1\\ansi " + "\\par ".join(paragraphs(size)) + "}").encode()


def csv(size):
    return "\n".join(",".join(r) for r in [["a", "b", "c", "d"], *rows(size)]).encode()


def as_json(size):
    return json.dumps([dict(zip("abcd", r)) for r in rows(size)]).encode()


def xml(size):
    return ("<list>" + "".join(f"<row><a>{r[0]}</a><b>{r[1]}</b><c>{r[2]} {r[3]}</c></row>" for r in rows(size)) + "</list>").encode()


def eml(size):
    body = base64.encodebytes(text(size)).decode()
    return f"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b\nContent-Disposition: attachment; filename=a.txt\nContent-Transfer-Encoding: base64\n\n{body}--b--\n".encode()


def pdf_of(pages, packed=True):
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for page in pages:
        stream = zlib.compress(page) if packed else page
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>" % (len(objects) + 2))
        objects.append(b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), b"/Filter/FlateDecode" if packed else b"", stream))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages))))
    out, offsets = b"%PDF-1.4\n", []
    chunks = [out]
    at = len(out)
    for i, body in enumerate(objects):
        chunk = b"%d 0 obj\n%s\nendobj\n" % (i + 1, body)
        offsets.append(at)
        chunks.append(chunk)
        at += len(chunk)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    chunks.append(b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table, len(objects) + 1, at))
    return b"".join(chunks)


def pdf(size):
    lines, pages = [], []
    for paragraph in paragraphs(size):
        words = paragraph.split()
        lines += [" ".join(words[i:i + 12]) for i in range(0, len(words), 12)]
    for i in range(0, len(lines), 45):
        pages.append(b"BT /F 10 Tf 15 TL 60 780 Td " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines[i:i + 45]) + b" ET")
    return pdf_of(pages, packed=False)


# ---- files that are made to take long ----

def noise():
    return bytes(WORDS.choices(range(0x80, 0x100), k=4 * MIB)) * 6


HOSTILE = {
    "text": lambda: text(LARGEST) + b"\x00",
    "text in KOI8-R": noise,
    "HTML": lambda: b"<div>" * 20_000 + b"</p></x></b>" * 2_000_000,
    "DOCX": lambda: package(docx(0, "".join(f'<w:p w:a="{i}"><w:r><w:t>{i}</w:t></w:r></w:p>' for i in range(1_200_000)))),
    "PPTX": lambda: package(pptx(0, 16_000)),
    "XLSX": lambda: package(xlsx(0, [f'<row r="1"><c r="XFD1" t="inlineStr"><is><t>{i}</t></is></c></row>' for i in range(10_000)])),
    "ODT": lambda: package(odf("text", "".join(f'<table:table><table:table-row><table:table-cell table:number-columns-spanned="256" table:number-rows-spanned="10000"><text:p>{i} words</text:p></table:table-cell></table:table-row>' + "".join(f'<table:table-row a="{WORDS.random()}"/>' for _ in range(9_999)) + "</table:table>" for i in range(100)))),
    "ODS": lambda: package(odf("spreadsheet", "<table:table>" + "".join(f'<table:table-row table:number-rows-repeated="9"><table:table-cell table:number-columns-repeated="16384"><text:p>{i}</text:p></table:table-cell></table:table-row>' for i in range(200_000)) + "</table:table>")),
    "ODP": lambda: package(odf("presentation", "".join(f"<draw:page><draw:frame><text:p>{i}</text:p></draw:frame></draw:page>" for i in range(700_000)))),
    "EPUB": lambda: package(epub(0, ["<div>" * 500 + f"<p>{i}" for i in range(16_000)])),
    "RTF": lambda: b"{\\rtf1" + b"{\\b x}" * 4_000_000,
    "CSV": lambda: b"a" + b",b" * (12 * MIB),
    "JSON": lambda: b"[" + b"1," * (12 * MIB) + b"1]",
    "XML": lambda: b"<a>" + b"<b/>" * (6 * MIB) + b"x</a>",
    "EML": lambda: b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * (3 * MIB) + b"--b--\n",
    "PDF": lambda: pdf_of([b"BT /F 10 Tf 60 780 Td " + b"(ab) Tj " * 1_000_000 + b"ET"]),
}
PLAIN = {"text": (text, "txt"), "text in KOI8-R": (koi8, "txt"), "HTML": (html, "html"), "RTF": (rtf, "rtf"), "CSV": (csv, "csv"),
         "JSON": (as_json, "json"), "XML": (xml, "xml"), "EML": (eml, "eml"), "PDF": (pdf, "pdf")}
ZIPPED = {"DOCX": docx, "PPTX": pptx, "XLSX": xlsx, "ODT": odt, "ODS": ods, "ODP": odp, "EPUB": epub}


# ---- measuring ----

def write(path, make):
    """Makes a file in a process of its own: a child is charged with the memory of its parent."""
    child = os.fork()
    if child == 0:
        with open(path, "wb") as file:
            file.write(make())
        os._exit(0)
    os.waitpid(child, 0)
    return os.path.getsize(path)


def measure(parley, path, size):
    """Returns seconds, MiB, what was wrong and the size of the file."""
    child = subprocess.Popen([parley, "extract", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, message.strip(), size


def build(kind, size, file_size):
    """A document with so much text, its file filled up to `file_size` where the format lets it."""
    if kind in PLAIN:
        return PLAIN[kind][0](size)
    parts = ZIPPED[kind](size)
    data = package(parts)
    return data if file_size <= len(data) + 200 else package(parts, file_size - len(data) - 200)


def typical(kind):
    size = TYPICAL
    for _ in range(3):
        size = size * TYPICAL // len(build(kind, size, 0)) + 1
    return build(kind, size, 0)


def largest(parley, path, kind):
    """The largest that is read: less text, where it is refused."""
    size = LARGEST
    while True:
        file_size = write(path, lambda: build(kind, size, LARGEST))
        if file_size <= LARGEST + 4096:
            result = measure(parley, path, file_size)
            if result[2] == "":
                return result
            if size < MIB:
                raise SystemExit(f"{kind}: {result[2]}")
        size = size * 4 // 5


def shown(result):
    return f"{result[0]:.2f} s, {result[1]:.0f} MiB"


def main():
    parley, wanted = sys.argv[1], sys.argv[2:]
    print("| Format | 100 KB | the largest | made to take long |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in HOSTILE:
            if wanted and kind not in wanted:
                continue
            path = os.path.join(folder, "a." + (PLAIN[kind][1] if kind in PLAIN else kind.lower()))
            small = measure(parley, path, write(path, lambda: typical(kind)))
            large = largest(parley, path, kind)
            worst = measure(parley, path, write(path, HOSTILE[kind]))
            end = "" if worst[2] == "" else f": {worst[2].split(': ')[-1][:60]}"
            print(f"| {kind} | {shown(small)} | {large[3] / MIB:.0f} MiB: {shown(large)} | {worst[3] / MIB:.1f} MiB: {shown(worst)}{end} |", flush=True)


main()
