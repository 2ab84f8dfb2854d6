-- verbs: finds a verb by its name. The build fills in the module of each (cmake/LuaModules.pm). A module is compiled
-- when one of its verbs is called for the first time, so that services that nobody uses take no room (ADR 20).
local module_of = {
--- verbs
}

-- Returns nil if there is none.
local function by_name(name)
    local module = module_of[name]
    return module and require(module)[name]
end

return {by_name = by_name}
