-- apis: models of the doors (`/v1`). A query that came through one is for the model "<api>/<model>" (names), and an
-- engine that says which Apis it serves names its models so, too. No name of a model holds a slash, so these are
-- nobody's by chance: engines that take any model do not take them, and they never fall back.
local find = string.find

local function is_of_api(model)
    return find(model, '/', 1, true) ~= nil
end

return {is_of_api = is_of_api}
