#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds what routes.pl has made, openapi.yaml, as it is and compressed (services/web/openapi.h has the type):
# openapi.pl OUT.c FILE. Compressing it here costs a node nothing, and makes the same bytes in every build.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use FindBin;
use IO::Compress::Gzip qw(gzip $GzipError);
use lib $FindBin::Bin;
use CText qw(slurp c_text);

my ($out, $file) = @ARGV;
die "usage: openapi.pl OUT.c FILE\n" unless defined $file;

my $yaml = slurp($file);
my $gzip;
gzip(\$yaml, \$gzip, -Level => 9, -Minimal => 1) or die "$file: $GzipError\n";
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/openapi.pl. */\n#include \"services/web/openapi.h\"\n\n";
print $c "const struct web_openapi web_openapi = {\n";
for (['plain', $yaml], ['gzip', $gzip]) {
    my ($name, $bytes) = @$_;
    printf $c ".%s = {\"\\\"%s\\\"\", {%s, %d}},\n", $name, substr(sha256_hex($bytes), 0, 32), c_text($bytes), length $bytes;
}
print $c "};\n";
close($c) or die "$out: $!\n";
