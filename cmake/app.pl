#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds the files of the web app, plain and compressed (services/web/app.h): app.pl OUT.c FILE...
# The name of a file ends with the hash of its content (app-D2fQ8x1b.js), except those that the page at /app/ is found by.
use strict;
use warnings;
use File::Basename;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp c_forms);

my %types = (html => 'text/html; charset=utf-8', js => 'text/javascript; charset=utf-8', css => 'text/css; charset=utf-8', svg => 'image/svg+xml',
    txt => 'text/plain; charset=utf-8');

my ($out, @files) = @ARGV;
die "usage: app.pl OUT.c FILE...\n" unless @files;

open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/app.pl. */\n#include \"services/web/app.h\"\n\nconst struct web_app_file web_app_files[] = {\n";
for my $path (@files) {
    my ($name, $ending) = basename($path) =~ /^([\w.-]+\.(\w+))$/ or die "$path: no name for an address\n";
    my $type = $types{$ending} or die "$path: no type is known for .$ending\n";
    printf $c "{\"%s\", \"%s\", %s,\n{%s}},\n", $name, $type, $name =~ /-[\w-]{8}\.\w+$/ ? 'true' : 'false', c_forms(slurp($path));
}
print $c "{.name = NULL}};\n";
close($c) or die "$out: $!\n";
