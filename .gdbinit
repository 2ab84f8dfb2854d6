# gdb, started here, shows `struct str` and `struct buf` as text. Allow it once, in ~/.config/gdb/gdbinit:
#   add-auto-load-safe-path /path/to/this/checkout/.gdbinit
set print pretty on
python
import gdb

SHOWN_MAX = 400


def text_of(at, n):
    if n == 0:
        return '""'
    if int(at) == 0:
        return f'<NULL with n = {n}>'
    try:
        raw = gdb.selected_inferior().read_memory(int(at), min(n, SHOWN_MAX)).tobytes()
    except gdb.MemoryError:
        return f'<{n} bytes at {int(at):#x}, which cannot be read>'
    shown = raw.decode('utf-8', 'backslashreplace').replace('\n', '\\n').replace('\0', '\\0')
    return f'"{shown}"' + (f'... ({n} bytes)' if n > SHOWN_MAX else '')


class Str:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return text_of(self.value['at'], int(self.value['n']))


class Buf:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        v = self.value
        over = ', overflowed' if v['is_over'] else ''
        return f"{text_of(v['at'], int(v['n']))} ({int(v['n'])} of {int(v['cap'])} bytes, at most {int(v['max'])}{over})"


def printer_of(value):
    kind = value.type.unqualified().strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return {'str': Str, 'buf': Buf}.get(kind.tag, lambda _: None)(value)
    return None


gdb.pretty_printers.append(printer_of)
end
