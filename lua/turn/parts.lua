-- parts: returns a long text as a list of parts, which the node joins (shared/redis/turn.c). Joining them here would
--   create a new string, and Lua hashes all bytes of every new string. Parts are strings, because Redis would turn a
--   number into another kind of reply. In a turn's reply the parts follow each other, preceded by a byte that no text
--   begins with and their number. (A nested array would cost Redis as much as hashing 500 bytes.)
local COUNTED = {'\0011', '\0012', '\0013', '\0014', '\0015'} -- the most frequent ones

local function bytes_of(text)
    if type(text) == 'string' then return #text end
    local n = 0
    for i = 1, #text do n = n + #text[i] end
    return n
end

-- Puts a text, or its parts, at the end of `list`.
local function put(list, text)
    if type(text) == 'string' then
        list[#list + 1] = text
        return
    end
    for i = 1, #text do list[#list + 1] = text[i] end
end

-- Puts a text, its parts or an error at the end of what a turn returns. Only a list of parts has a first one: `[1]` of
-- a string is nil, and costs less than asking for its type. Returns how many bytes that are; an error counts nothing.
local function put_reply(replies, text)
    local at, n = #replies + 1, #text
    if not text[1] then
        replies[at] = n == 0 and not text.err and '' or text
        return n
    end
    local bytes = 0
    replies[at] = COUNTED[n] or '\1' .. n
    for i = 1, n do
        local part = text[i]
        replies[at + i], bytes = part, bytes + #(part or '') -- a field that is missing is false
    end
    return bytes
end

-- `text`, a string, in front of a text or of its parts. Those are the caller's own: they are changed.
local function put_first(text, rest)
    if type(rest) == 'string' then return text .. rest end
    rest[1] = text .. (rest[1] or '')
    return rest
end

return {bytes_of = bytes_of, put = put, put_reply = put_reply, put_first = put_first}
