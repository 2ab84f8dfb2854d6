# SPDX-License-Identifier: MIT
"""references.py - what independent tools read in a file: a function for each tool, from a path to a text."""
import email
import email.policy
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import zipfile

# "+": what it reads is no noise, and need not be printed.
TOOLS = {
    "pdf": ["mupdf"],
    "docx": ["pandoc", "office", "+word_parts"],
    "odt": ["pandoc", "office", "+odf_parts"],
    "rtf": ["pandoc", "office"],
    "pptx": ["slides", "+pictures"],
    "odp": ["odf", "+odf_parts"],
    "xlsx": ["openpyxl", "office"],
    "ods": ["odf"],
    "epub": ["pandoc", "chapters"],
    "html": ["right"],
    "text": ["iconv"],
    "source": ["utf8"],
    "csv": ["named"],
    "json": ["leaves"],
    "xml": ["lxml", "+markup"],
    "eml": ["mail", "+mail_parts"],
}
# What LibreOffice makes of each type: text, or all sheets as they are shown.
OFFICE = {
    "docx": "txt:Text (encoded):UTF8",
    "odt": "txt:Text (encoded):UTF8",
    "rtf": "txt:Text (encoded):UTF8",
    "xlsx": "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1",
}
MARKS = [(b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")]
ALIASES = {"mac-centraleurope": "MAC-CENTRALEUROPE", "x-mac-ce": "MAC-CENTRALEUROPE", "x-mac-cyrillic": "MAC-CYRILLIC",
           "maccyrillic": "MAC-CYRILLIC", "mac-cyrillic": "MAC-CYRILLIC", "macroman": "MACINTOSH", "ascii": "UTF-8",
           "shift-jis": "CP932", "shift_jis": "CP932", "gb2312": "GBK", "euc-kr": "CP949", "utf-8-sig": "UTF-8", "tis-620": "CP874",
           "iso-8859-11": "CP874", "iso-8859-1": "CP1252", "iso-8859-9": "CP1254"}


def mupdf(path):
    import fitz

    fitz.TOOLS.mupdf_display_errors(False)
    with fitz.open(path) as document:
        if document.needs_pass:
            return ""
        flags = fitz.TEXT_DEHYPHENATE | fitz.TEXT_PRESERVE_WHITESPACE
        return "\f".join(page.get_text(flags=flags) for page in document)


def pandoc(path):
    command = ["pandoc", "-t", "plain", "--wrap=none", path]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()


def office(path):
    """Converts one file; judge.py converts many at once, and comes here for those that failed."""
    return offices([path]).get(path, "")


def offices(paths):
    """The texts of files of one type by LibreOffice, started once."""
    kind = os.path.splitext(paths[0])[1][1:]
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for number, path in enumerate(paths):
            link = os.path.join(folder, "in%d.%s" % (number, kind))
            os.symlink(os.path.abspath(path), link)
            names["in%d" % number] = path
        command = ["soffice", "-env:UserInstallation=file://%s/profile" % folder, "--headless", "--norestore",
                   "--convert-to", OFFICE[kind], "--outdir", folder + "/out", *sorted(glob.glob(folder + "/in*"))]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, start_new_session=True, **quiet) as running:
            try:
                running.wait(30 + 10 * len(paths))
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
        texts = {}
        for made in sorted(glob.glob(folder + "/out/*")):
            path = names[re.match(r"in\d+", os.path.basename(made)).group()]
            texts[path] = texts.get(path, "") + utf8(made) + "\n"
        return texts


def parts(path, pattern):
    from lxml import etree

    with zipfile.ZipFile(path) as package:
        names = [name for name in package.namelist() if re.match(pattern, name)]
        for name in sorted(names, key=lambda n: [int(d) for d in re.findall(r"\d+", n)]):
            yield etree.fromstring(package.read(name), etree.XMLParser(recover=True, huge_tree=True))


def blocks(root, block, inline):
    """The text of a tree: a line for each element named block, only the texts of those in it named inline."""
    for element in root.iter("{*}" + block):
        yield "".join(text for child in element.iter("{*}" + inline) for text in child.itertext())


def slides(path):
    shown = r"ppt/(slides/slide|notesSlides/notesSlide|charts/chart|diagrams/data)\d+\.xml$"
    lines = []
    for root in parts(path, shown):
        lines += blocks(root, "p", "t")
        lines += (v.text or "" for v in root.iter("{http://schemas.openxmlformats.org/drawingml/2006/chart}v"))
    return "\n".join(lines)


def pictures(path):
    """What stands for the pictures of slides."""
    roots = parts(path, r"ppt/slides/slide\d+\.xml$")
    return "\n".join(e.get("descr") or "" for root in roots for e in root.iter("{*}cNvPr"))


def word_parts(path):
    """What people see beside the text: headers, footers, notes, charts, drawings, what stands for a picture."""
    lines = []
    for root in parts(path, r"word/(document|header|footer|footnotes|endnotes|charts/chart|diagrams/data)\d*\.xml$"):
        lines += blocks(root, "p", "t")
        lines += (v.text or "" for v in root.iter("{*}v"))
        lines += (e.get(name) or "" for e in root.iter("{*}docPr", "{*}shape") for name in ("descr", "title", "alt"))
    return "\n".join(lines)


def odf(path):
    from odf import opendocument, teletype

    document = opendocument.load(path)
    kinds = ("p", "h")
    return "\n".join(teletype.extractText(e) for e in walk(document.body) if e.qname[1] in kinds)


def odf_parts(path):
    """Also headers, footers, drawings and their descriptions, wherever they are."""
    roots = list(parts(path, r"(Object \d+/)?(content|styles)\.xml$"))
    lines = [line for root in roots for line in blocks(root, "p", "p")]
    lines += [line for root in roots for line in blocks(root, "h", "h")]
    return "\n".join(lines + [e.text or "" for root in roots for e in root.iter("{*}title", "{*}desc")])


def walk(element):
    for child in element.childNodes:
        if hasattr(child, "qname"):
            yield child
            yield from walk(child)


def openpyxl(path):
    import openpyxl as library

    book = library.load_workbook(path, read_only=False, data_only=True)
    cells = (cell for sheet in book.worksheets if sheet.sheet_state == "visible" for row in sheet.iter_rows(values_only=True) for cell in row)
    return "\n".join(str(cell) for cell in cells if cell is not None)


def chapters(path):
    """The spine of a book in order, each file by html5lib."""
    from lxml import etree

    with zipfile.ZipFile(path) as book:
        container = etree.fromstring(book.read("META-INF/container.xml"))
        package = next(container.iter("{*}rootfile")).get("full-path")
        opf = etree.fromstring(book.read(package))
        items = {item.get("id"): item.get("href") for item in opf.iter("{*}item")}
        folder = os.path.dirname(package)
        files = (items.get(ref.get("idref")) for ref in opf.iter("{*}itemref"))
        return "\n".join(page(decoded(book.read(os.path.normpath(os.path.join(folder, name))))) for name in files if name and not name.endswith(".svg"))


INLINE = set("a abbr b bdi bdo big cite code data dfn em font i ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr".split())


def page(content):
    """The text of a web page's body, by html5lib, with a space wherever a block begins or ends."""
    import html5lib

    body = html5lib.parse(content, treebuilder="lxml", namespaceHTMLElements=False).getroot().find("body")
    if body is None:
        return ""
    for element in list(body.iter("script", "style", "template", "noscript")):
        element.text = None
        for child in list(element):
            element.remove(child)
    return "".join(spaced(body))


def spaced(element):
    gap = "" if element.tag in INLINE else " "
    yield gap + ((element.text or "") if isinstance(element.tag, str) else "")
    for child in element:
        yield from spaced(child)
        yield child.tail or ""
    yield gap


def right(path):
    with open(path + ".right", "rb") as marked:
        content = marked.read()
    return page(content.decode()) if os.path.basename(path).startswith("readability-") else content.decode()


def iconv(path):
    encoding = os.path.basename(os.path.dirname(path))
    with open(path, "rb") as content:
        command = ["iconv", "-f", ALIASES.get(encoding, encoding), "-t", "UTF-8"]
        return subprocess.run(command, stdin=content, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()


def utf8(path):
    with open(path, "rb") as content:
        return content.read().decode("utf-8-sig", "replace")


def decoded(data):
    """UTF-8, or what its mark says."""
    encoding = next((encoding for mark, encoding in MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding, "replace")


def named(path):
    """A text whose mark or whose file's name says what its encoding is."""
    with open(path, "rb") as content:
        data = content.read()
    if any(data.startswith(mark) for mark, _ in MARKS):
        return decoded(data)
    found = re.search(r"(16|32)(le|be)", os.path.basename(path).lower())
    if found:
        return data.decode("utf-%s-%s" % found.groups(), "replace")
    if "mskanji" in path:
        return data.decode("cp932", "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def leaves(path):
    def texts(value):
        if isinstance(value, dict):
            for key, child in value.items():
                yield key
                yield from texts(child)
        elif isinstance(value, list):
            for child in value:
                yield from texts(child)
        elif value is not None:
            yield json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value

    with open(path, "rb") as content:
        return "\n".join(texts(json.load(content)))


def lxml(path):
    from lxml import etree

    root = etree.parse(path, etree.XMLParser(recover=True, huge_tree=True, resolve_entities=False)).getroot()
    return "\n".join(root.itertext(etree.Element))


def markup(path):
    """Also the names and attributes, of which Parley prints those beside short texts."""
    from lxml import etree

    tree = etree.parse(path, etree.XMLParser(recover=True, huge_tree=True, resolve_entities=False))
    named = ([etree.QName(e).localname, *e.attrib.keys(), *e.attrib.values()] for e in tree.iter(etree.Element))
    return "\n".join(word for words in named for word in words) + "\n" + lxml(path)


def mail(path):
    with open(path, "rb") as content:
        message = email.message_from_binary_file(content, policy=email.policy.default)
    lines = [str(message.get(name, "")) for name in ("subject", "from", "to", "cc", "date")]
    body = message.get_body(("plain", "html"))
    if body is not None:
        text = body.get_content()
        lines.append(page(text) if body.get_content_subtype() == "html" else text)
    for attachment in message.iter_attachments():
        lines.append(attachment.get_filename() or "")
        if attachment.get_content_maintype() == "text":
            lines.append(attachment.get_content())
    return "\n".join(lines)


def mail_parts(path):
    """All headers and all texts, in each form and in messages within."""
    with open(path, "rb") as content:
        message = email.message_from_binary_file(content, policy=email.policy.default)
    lines = []
    for part in message.walk():
        lines += [str(value) for value in part.values()]
        if part.get_content_maintype() == "text":
            text = part.get_content()
            lines += [text, page(text) if part.get_content_subtype() == "html" else ""]
        elif not part.is_multipart():
            lines.append((part.get_payload(decode=True) or b"").decode("utf-8", "replace"))
    return "\n".join(lines)
