-- uncounted: attempts that do not count, because no answer failed: the engine or its model was away, or the claim was
--   lost on its way to the engine. Neither is known for certain, and a query that ends its engines' connections would
--   be handed round indefinitely: MOST times a query, which its topic's field b:<seq> counts.
local call = redis.call

local MOST = 20

-- Takes the attempt back of those that have not had that MOST times. key: of their topic.
local function take_back(key, seqs, attempts)
    for i = 1, #seqs do
        if call('HINCRBY', key, 'b:' .. seqs[i], 1) <= MOST then attempts[i] = attempts[i] - 1 end
    end
end

return {take_back = take_back}
