-- arrays: puts values that are JSON together as one JSON array, as parts of a reply (turn/parts.lua).
local concat = table.concat

local SHORT = 16384 -- bytes that cost less as one string than as parts

local function put(parts, values)
    local bytes = 0
    for i = 1, #values do bytes = bytes + #values[i] end
    if bytes <= SHORT then
        parts[#parts + 1] = '[' .. concat(values, ',') .. ']'
        return
    end
    for i = 1, #values do
        parts[#parts + 1] = i == 1 and '[' or ','
        parts[#parts + 1] = values[i]
    end
    parts[#parts + 1] = ']'
end

return {put = put}
