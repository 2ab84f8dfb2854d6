-- held_nonces: the marks of signed requests that nodes hold (auth/nonces_held.lua). One set per node, deleted with its
--   node (queue/nodes.lua), and a node that dies leaves nothing that has to be looked for.

local AGAIN_MS = 10000 -- after a loss, the same request is admitted
local KEPT_S = 600     -- longer than a request is held; renewed with each one

local function key_of(turn, node)
    return turn.prefix .. 'held:' .. node
end

local function lost_key(turn, mark)
    return turn.prefix .. 'lost:' .. mark
end

return {AGAIN_MS = AGAIN_MS, KEPT_S = KEPT_S, key_of = key_of, lost_key = lost_key}
