# SPDX-License-Identifier: MIT
#
# RoutesC: the routes of a service (Routes.pm) as C: a header that declares its table and its handlers, and the table. The compiler
# finds a mistake in a row where the row is written.
package RoutesC;
use strict;
use warnings;
use Routes;

sub header {
    my ($table) = @_;
    my $guard = 'PARLEY_GENERATED_ROUTES_' . uc($table->{name}) . '_H';
    my %handlers = map {$_->{of}{handler}{value} => 1} @{$table->{routes}};
    return "/* Made by cmake/routes.pl from $table->{path}. */\n#ifndef $guard\n#define $guard\n\n#include \"shared/http/request/route.h\"\n\n"
        . join('', map {"handler $_;\n"} sort keys %handlers)
        . "\nextern const struct route $table->{name}_routes[]; /* ends with a NULL path */\n\n#endif\n";
}

sub roles {
    my ($route) = @_;
    return 'ROLES_NONE' unless @{$route->{roles}};
    return 'ROLES_ALL' if @{$route->{roles}} == @Routes::ROLES;
    return join(' | ', map {'1u << ROLE_' . uc} @{$route->{roles}});
}

# A row for each spelling.
sub rows {
    my ($table, $route) = @_;
    my $of = $route->{of};
    my $rest = join('', map {", .$_ = true"} grep {$route->{flags}{$_}} @Routes::FLAGS);
    my @members = grep {$of->{$_}} @Routes::MEMBERS;
    my $line = "#line $route->{row}{line} \"$table->{path}\"\n";
    my $c = '';
    for (@{$route->{spellings}}) {
        my ($method, $path) = @$_;
        $c .= "$line    {\"$method\", \"$path\", " . roles($route) . ", $of->{handler}{value}$rest";
        $c .= ",\n#line $of->{$_}{line} \"$table->{path}\"\n    .$_ = $of->{$_}{value}" for @members;
        $c .= "},\n";
    }
    return $c;
}

sub source {
    my ($table) = @_;
    return "/* Made by cmake/routes.pl from $table->{path}. */\n"
        . join('', map {"#include \"$_\"\n"} "generated/routes_$table->{name}.h", @{$table->{include}})
        . "\nconst struct route $table->{name}_routes[] = {\n"
        . join('', map {rows($table, $_)} @{$table->{routes}})
        . "    {0},\n};\n";
}

1;
