-- verbs: all verbs by name. The build fills them in from the files that hold one (cmake/LuaModules.pm).
return {
--- verbs
}
