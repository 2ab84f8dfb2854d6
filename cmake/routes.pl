#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What comes of the rows in services/*/routes.yaml (Routes.pm reads them; ADR 88):
#   routes.pl --openapi  prints the description that nodes serve as /openapi.yaml
#   routes.pl --json     prints the routes, for tests
#   routes.pl DIR        writes DIR/openapi.yaml, and routes_NAME.h and routes_NAME.c for each service
# Run in the source root. Says what is wrong as `file:line: why`, and ends with 1 then.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use lib $FindBin::Bin;
use CText qw(slurp);
use OpenApi;
use Routes;
use RoutesC;

my ($what) = @ARGV;
die "usage: routes.pl --openapi | --json | DIR\n" unless defined $what and @ARGV == 1 and $what =~ /^(?:--(?:openapi|json)$|[^-])/;

# A file that is the same already is left alone, so that nothing is built for it.
sub write_file {
    my ($path, $text) = @_;
    return if -e $path and slurp($path) eq $text;
    open(my $out, '>:raw', $path) or die "$path: $!\n";
    print $out $text;
    close($out) or die "$path: $!\n";
}

sub json_of {
    my ($api) = @_;
    my @all;
    for my $table (@{$api->{tables}}) {
        for my $route (@{$table->{routes}}) {
            push @all, map {+{service => $table->{name}, method => $_->[0], path => $_->[1], roles => $route->{roles},
                flags => [sort keys %{$route->{flags}}], checks => [RouteFile::words($route->{of}{checks})]}} @{$route->{spellings}};
        }
    }
    return JSON::PP->new->canonical->pretty->encode(\@all);
}

my $api = Routes::read();
my $openapi = @{$api->{faults}} ? '' : OpenApi::text($api);
print STDERR "$_\n" for @{$api->{faults}};
exit 1 if @{$api->{faults}};
if ($what eq '--openapi') {
    print $openapi;
} elsif ($what eq '--json') {
    print json_of($api);
} else {
    mkdir $what;
    write_file("$what/openapi.yaml", $openapi);
    for my $table (@{$api->{tables}}) {
        write_file("$what/routes_$table->{name}.h", RoutesC::header($table));
        write_file("$what/routes_$table->{name}.c", RoutesC::source($table));
    }
}
