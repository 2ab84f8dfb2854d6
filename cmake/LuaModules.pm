# SPDX-License-Identifier: MIT
# LuaModules - the modules of lua/ and the one text that Redis gets of them.
#
# Each file is a module: it names what it stands on as `local leases = require('queue/leases')` and ends with
# `return {…}`. Redis has no require, so the text of each file becomes a string, which is compiled and run when its module
# is first asked for. All functions together are larger than a processor's cache, and Lua's garbage collector visits each
# of them again and again, but it does not look into strings (ADR 20).
# What cannot work is an error of the build: a module that is not there, that nobody asks for or that asks for itself
# in a circle, and a name that a module does not return or that nobody takes from it.
package LuaModules;
use strict;
use warnings;
use File::Find;

my $ROOT = 'library';   # registers the functions; it is the text's end, not a module
my $VERBS = 'verbs';    # its line `--- verbs` stands for the modules of all verbs, which it asks for by name

sub slurp {
    my ($path) = @_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

my $STRING = qr/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/;
my $COMMENT = qr/--[^\n]*/;
# To look for a global costs Redis's Lua more than most else that a verb does.
my @GLOBALS = qw(error ipairs next pairs pcall tonumber tostring type unpack);

# Without comments and, except for the names that are required, without strings.
sub code_of {
    my ($text) = @_;
    $text =~ s/(\brequire\('[\w\/]+'\))|$STRING|$COMMENT/defined $1 ? $1 : ''/ge;
    return $text;
}

# Reads DIR/**.lua. Returns {name => {path, text, needs => [names], local => {local => name}, returns => {name => 1}}}.
# change(path, text): the text that stands for a file's.
sub read_modules {
    my ($dir, $change) = @_;
    my %text_of;
    find({no_chdir => 1, wanted => sub {
        $text_of{$1} = slurp($_) if m{^\Q$dir\E/(.+)\.lua$};
    }}, $dir);
    my %modules = map {$_ => parse("$dir/$_.lua", $change->("$dir/$_.lua", $text_of{$_}))} sort keys %text_of;
    die "$dir: there is no $ROOT.lua\n" unless $modules{$ROOT};
    return \%modules;
}

sub parse {
    my ($path, $text) = @_;
    my $code = code_of($text);
    my %module = (path => $path, text => $text, needs => [], local => {}, returns => {});
    while ($code =~ /\brequire\b(?:\('([\w\/]+)'\))?/g) {
        if (defined $1) {
            push @{$module{needs}}, $1;
        } elsif ($path !~ m{/\Q$VERBS\E\.lua$}) {
            die "$path: require takes a name that is known at build time: require('queue/leases')\n";
        }
    }
    $module{local}{$1} = $2 while $code =~ /^local (\w+) = require\('([\w\/]+)'\) *$/mg;
    if ($code =~ /^return \{([^{}]*)\}\s*\z/m) {
        my $list = $1;
        $module{returns}{$1} = 1 while $list =~ /(\w+) =/g;
    }
    return \%module;
}

# The module's names in an order in which each comes after those that it needs.
sub in_order {
    my ($modules) = @_;
    my (@order, %state, $visit);
    $visit = sub {
        my ($name, @way) = @_;
        my $state = $state{$name} // '';
        return if $state eq 'done';
        if ($state eq 'open') {
            shift @way while $way[0] ne $name;
            die "$modules->{$name}{path}: a circle of modules: " . join(' -> ', @way, $name) . "\n";
        }
        $state{$name} = 'open';
        for my $needed (@{$modules->{$name}{needs}}) {
            die "$modules->{$name}{path}: there is no module '$needed'\n" unless $modules->{$needed};
            $visit->($needed, @way, $name);
        }
        $state{$name} = 'done';
        push @order, $name;
    };
    $visit->($ROOT);
    for my $name (sort keys %$modules) {
        die "$modules->{$name}{path}: no module asks for '$name'\n" unless $state{$name};
    }
    return @order;
}

sub check_names {
    my ($modules) = @_;
    my %used = %{$modules->{$VERBS}{finds}};
    for my $name (sort keys %$modules) {
        die "$modules->{$name}{path}: does not end with 'return {name = …}'\n"
            unless $name eq $ROOT or %{$modules->{$name}{returns}};
    }
    for my $name (sort keys %$modules) {
        my $module = $modules->{$name};
        my $code = code_of($module->{text});
        while ($code =~ /(?<![\w.])(\w+)\.(\w+)/g) {
            my $from = $module->{local}{$1} or next;
            $used{"$from $2"} = 1;
            die "$module->{path}: module '$from' returns no '$2'\n"
                unless $modules->{$from}{returns}{$2};
        }
        while ($code =~ /require\('([\w\/]+)'\)\.(\w+)/g) {
            $used{"$1 $2"} = 1;
            die "$module->{path}: module '$1' returns no '$2'\n" unless $modules->{$1}{returns}{$2};
        }
    }
    for my $name (sort keys %$modules) {
        for my $returned (sort keys %{$modules->{$name}{returns}}) {
            die "$modules->{$name}{path}: nobody takes '$returned' from module '$name'\n"
                unless $used{"$name $returned"};
        }
    }
}

# Comments stay here; lines stay where they are.
sub without_comments {
    my ($text) = @_;
    $text =~ s/($STRING)| *$COMMENT/defined $1 ? $1 : ''/ge;
    return $text;
}

# The module's text, to be run once with `require` as its argument. What it takes from another module by the name
# `leases.start` is a local of it, and so are Lua's own functions: a verb that runs looks nothing up.
sub linked {
    my ($module) = @_;
    my ($text, %taken) = without_comments($module->{text});
    my $take = sub {
        my ($from, $name) = @_;
        return "$from.$name" unless $module->{local}{$from};
        $taken{$from}{$name} = 1;
        return "${from}__$name";
    };
    $text =~ s/($STRING)|(?<![\w.])(\w+)\.(\w+)/defined $1 ? $1 : $take->($2, $3)/ge;
    for my $from (keys %taken) {
        my @names = sort keys %{$taken{$from}};
        my ($locals, $values) = map {my $link = $_; join(', ', map {"$from$link$_"} @names)} '__', '.';
        $text =~ s/^(local $from = require\('[\w\/]+'\))/$1 local $locals = $values/m;
    }
    my $code = code_of($text);
    my $globals = join(', ', grep {$code =~ /(?<![\w.])$_\(/} @GLOBALS);
    $text = "local $globals = $globals $text" if $globals;
    return $code =~ /\brequire\(/ ? "local require = ... $text" : $text;
}

# A string of Lua that stands for that text.
sub quoted {
    my ($text) = @_;
    my $level = '=';
    $level .= '=' while $text =~ /\]$level\]/;
    return "[$level\[$text]$level]";
}

# The text that Redis gets, without its `#!lua` line and FUNCTION_NAME. Dies of what cannot work.
sub library {
    my ($modules) = @_;
    my @order = in_order($modules);
    check_names($modules);
    pop @order; # the root
    my $text = <<'LUA';
local texts, modules = {}, {}
local function require(name)
    local module = modules[name]
    if not module then
        module = assert(loadstring(texts[name], '=' .. name))(require)
        modules[name], texts[name] = module, nil
    end
    return module
end
LUA
    $text .= "texts['$_'] = @{[quoted(linked($modules->{$_}))]}\n" for @order;
    return $text . without_comments($modules->{$ROOT}{text});
}

# Puts the modules of the verbs into the module that has the line `--- verbs`. $path_of: {verb => path}.
sub put_verbs {
    my ($modules, $path_of) = @_;
    my %name_at = map {$modules->{$_}{path} => $_} keys %$modules;
    my $list = $modules->{$VERBS} or die "there is no module '$VERBS'\n";
    my %module_of = map {$_ => $name_at{$path_of->{$_}}} keys %$path_of;
    my $lines = join('', map {"    $_ = '$module_of{$_}',\n"} sort keys %module_of);
    (my $text = $list->{text}) =~ s/^--- verbs\n/$lines/m or die "$list->{path}: has no line '--- verbs'\n";
    $modules->{$VERBS} = {
        %{parse($list->{path}, $text)}, needs => [sort values %module_of],
        finds => {map {("$module_of{$_} $_" => 1)} keys %module_of},
    };
}

1;
