-- library: every verb of Parley, loaded as one Redis function library by each node
-- (shared/redis/library.c puts the `#!lua` line and FUNCTION_NAME in front). One registered
-- function, `turn`, runs the verbs of one turn of a node's event loop; see turn/frame.lua. A second one,
-- `turn_freeing`, runs the verbs that are allowed while Redis is full; see turn/full.lua. The files of lua/ are modules
-- (cmake/LuaModules.pm), each of which is compiled when a call first needs it. While a library is being loaded, Redis
-- offers it only register_function.
local function turn(keys, argv)
    return require('turn/frame').run(keys, argv)
end

local function turn_freeing(keys, argv)
    return require('turn/full').run(keys, argv)
end

redis.register_function(FUNCTION_NAME, turn)
redis.register_function{
    function_name = FUNCTION_NAME .. '_freeing',
    callback = turn_freeing,
    flags = {'allow-oom'},
}
