-- bounds: how much one call of a verb may read and answer, whatever clients have stored. A verb that lists
-- answers with a page: as many items as fit, one at least, and where to go on. Between two pages other turns run.
-- Each verb states its own bound in its header; docs/redis-keys.md has them all.

local REPLY_BYTES = 1048576 -- of a page; its first item may be larger alone
local LOOK_BYTES = 8388608  -- of rows that are read only to look for something in them
local TITLE_CHARS = 200     -- of a topic's name in lists

-- What is left of `text` after its first `n` lines; '' when it has no more. Walks from newline to newline: a
-- pattern without an anchor would try again at each byte of a line that a client made long.
local function after_lines(text, n)
    local at = 0
    for _ = 1, n do
        at = find(text, '\n', at + 1, true)
        if not at then return '' end
    end
    return sub(text, at + 1)
end

-- The query (JSON) of a row: its 7th line.
local function query_of(row)
    return after_lines(row, 6)
end

-- A text (JSON), cut to TITLE_CHARS characters: never within one, be it UTF-8 or an escape.
local function title_of(text)
    if #text <= TITLE_CHARS + 2 then return text end
    local head = sub(text, 1, TITLE_CHARS + 1)
    if not find(head, '[\\\128-\255]') then return head .. '"' end
    local at, last = 2, #text - 1
    for _ = 1, TITLE_CHARS do
        local c, step = byte(text, at), 1
        if at > last then return text end
        if c == 92 then
            step = byte(text, at + 1) == 117 and 6 or 2
            if step == 6 and find(text, '^\\u[dD][89abAB]..\\u', at) then step = 12 end -- two halves of one
        elseif c >= 240 then step = 4
        elseif c >= 224 then step = 3
        elseif c >= 192 then step = 2 end
        at = at + step
    end
    return at > last and text or sub(text, 1, at - 1) .. '"'
end

-- The bytes of some fields of a hash, without reading them.
local function bytes_of(key, ...)
    local bytes = 0
    for _, field in ipairs({...}) do bytes = bytes + call('HSTRLEN', key, field) end
    return bytes
end
