#!/usr/bin/env perl
# SPDX-License-Identifier: MIT
#
# man.pl PROGRAM FOLDER - writes the manual pages parley.1 and parley-COMMAND.1 from the help texts of the built program,
# so that both always say the same. A page is that text with headings, flags and words set as manual pages set them.
use strict;
use warnings FATAL => 'all';

my ($program, $folder) = @ARGV;
defined $folder or die "usage: man.pl PROGRAM FOLDER\n";

# Without the builder's settings: a help text shows defaults only.
delete $ENV{$_} for grep { /^PARLEY_/ } keys %ENV;

sub help {
    my @words = @_;
    open my $pipe, '-|', $program, @words, '--help' or die "man.pl: $program: $!\n";
    my @lines = <$pipe>;
    close $pipe or die "man.pl: $program @words --help failed\n";
    chomp @lines;
    return @lines;
}

# Text as troff takes it: no escapes, no requests, and hyphens that can be copied.
sub text {
    my ($text) = @_;
    $text =~ s/\\/\\e/g;
    $text =~ s/-/\\-/g;
    $text =~ s/^([.'])/\\&$1/;
    return $text;
}

# Headings of sections that every manual page has under these names; others are below the section that they are in.
my %sections = (Flags => 'OPTIONS', Examples => 'EXAMPLES', 'Exit codes' => 'EXIT STATUS', 'Exit status' => 'EXIT STATUS');

# heading(TEXT, NEXT, IS_IN_OPTIONS): the requests for it, NEXT being the line below.
sub heading {
    my ($heading, $next, $is_in_options) = @_;
    return ".SH $sections{$heading}" if $sections{$heading} && !($heading eq 'Flags' && $is_in_options);
    return (('.SH OPTIONS') x ($next =~ /^ {2}--/ && !$is_in_options), '.SS ' . text($heading));
}

sub write_page {
    my ($name, $summary, $version, $also, @lines) = @_;
    my @page = (
        '.\" Written by cmake/man.pl from the help text of the program.',
        '.TH ' . uc($name) . " 1 \"\" \"Parley $version\" \"User Commands\"",
        '.nh', '.ad l', # names of flags and variables stay whole
        '.SH NAME', text($name) . ' \- ' . text($summary), '.SH SYNOPSIS', '.nf'
    );
    while (@lines && $lines[0] =~ /^(?:usage:| {7})\s*(\S.*)/) {
        push @page, text($1);
        shift @lines;
    }
    push @page, '.fi', '.SH DESCRIPTION';
    my $is_item = 0;     # inside the text of a flag or word
    my $is_verbatim = 0; # inside the examples
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my $next = $lines[$i + 1] // '';
        if ($is_verbatim && $line ne '' && $line =~ /^ /) {
            push @page, text($line =~ s/^ {2}//r);
            next;
        }
        if ($is_verbatim) {
            push @page, '.fi';
            $is_verbatim = 0;
        }
        if ($line eq '') {
            push @page, '.PP' if $page[-1] !~ /^\.(?:PP|SH|SS)/;
            $is_item = 0;
        }
        elsif ($line =~ /^(Exit codes|Exit status): (.*)$/) {
            pop @page if $page[-1] eq '.PP';
            push @page, ".SH $sections{$1}", text($2);
        }
        elsif ($next =~ /^ {2}\S/ && $line =~ /^([A-Z][^.]*[^.,])$/) {
            (my $heading = $1) =~ s/:$//;
            pop @page if $page[-1] eq '.PP';
            push @page, heading($heading, $next, scalar grep { $_ eq '.SH OPTIONS' } @page);
            $is_item = 0;
            $is_verbatim = $heading eq 'Examples';
            push @page, '.nf' if $is_verbatim;
        }
        elsif ($line =~ /^ {2}(--\S.*)$/) {
            push @page, '.TP', '\fB' . text($1) . '\fR';
            $is_item = 1;
        }
        elsif ($line =~ /^ {2}(\S+) {2,}(\S.*)$/ || $line =~ /^ {2}([a-z]+) (\S.*)$/ && $name eq 'parley') {
            push @page, '.TP', '\fB' . text($1) . '\fR', text($2);
            $is_item = 1;
        }
        elsif ($next =~ /^ {4,}\S/ && $line =~ /^ {2}([a-z]+)$/) {
            push @page, '.TP', '\fB' . text($1) . '\fR';
            $is_item = 1;
        }
        elsif ($line =~ /^ {4,}(\S.*)$/ && $is_item) {
            push @page, text($1);
        }
        elsif ($line =~ /^ {4,}\S/) {
            push @page, '.nf', text($line), '.fi';
        }
        else {
            push @page, '.PP' if $is_item;
            $is_item = 0;
            push @page, text($line =~ s/^\s+//r);
        }
    }
    push @page, '.fi' if $is_verbatim;
    pop @page while $page[-1] eq '.PP';
    push @page, '.SH SEE ALSO', join(",\n", map { '\fB' . text($_) . '\fR(1)' } @$also), '.PP', 'The handbook: any node shows it at /handbook.';
    open my $file, '>', "$folder/$name.1" or die "man.pl: $folder/$name.1: $!\n";
    print $file map { "$_\n" } @page;
    close $file or die "man.pl: $folder/$name.1: $!\n";
}

my $version = `$program version` =~ /(\d+\.\d+\.\d+)/ ? $1 : die "man.pl: $program has no version\n";
my @top = help();
my %summary; # of each command
for my $line (@top[(grep { $top[$_] eq 'Commands:' } 0 .. $#top)[0] + 1 .. $#top]) {
    last unless $line =~ /^ {2}(\S+)\s+(\S.*)$/;
    $summary{$1} = $2;
}
my @pages = map { "parley-$_" } sort keys %summary;
write_page('parley', 'a public, load-balanced front end for private inference engines', $version, \@pages, @top);
write_page("parley-$_", $summary{$_}, $version, ['parley'], help($_)) for keys %summary;
