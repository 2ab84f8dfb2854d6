#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# settings.pl NAME... - looks for variables PARLEY_* of the environment that nobody takes: neither one of the NAMEs nor a
# setting of `parley`, whose options are rows in the sources. Prints a line for each: its name, and the nearest one, if
# there is one. It needs no build, and of Perl only what every Debian and Ubuntu has.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Nearest qw(nearest);

my %is_known = map { $_ => 1 } @ARGV, 'PARLEY_CONFIG';
for my $file (glob('{shared,services}/*/*.c {shared,services}/*/*/*.c')) {
    open(my $in, '<:raw', $file) or next;
    local $/;
    my $text = <$in>;
    $is_known{'PARLEY_' . uc($1 =~ tr/-/_/r)} = 1 while $text =~ /(?:\bOPTION_\w+\(\s*|\.name = )"([a-z0-9-]+)",/g;
}

# Kubernetes adds variables of each service of the namespace: those of one that is called parley begin like settings.
sub is_service_link {
    my ($name, $value) = @_;
    return $name =~ /_SERVICE_(HOST|PORT(_\w+)?)$/ || $name =~ /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
        || ($name =~ /_PORT$/ && $value =~ m{^(tcp|udp|sctp)://});
}

my @unknown = grep { /^PARLEY_\w{0,60}$/ and length $ENV{$_} and not $is_known{$_} } sort keys %ENV;
for my $name (grep { not is_service_link($_, $ENV{$_}) } @unknown) {
    my $nearest = nearest($name =~ s/^PARLEY_//r, map { s/^PARLEY_//r } keys %is_known);
    print $name, ($nearest ne '' ? " PARLEY_$nearest" : ''), "\n";
}
