#!/usr/bin/env perl
# SPDX-License-Identifier: MIT
#
# man.pl PROGRAM FOLDER - writes the manual pages parley.1 and parley-COMMAND.1 from the help texts of the built program,
# so that both always say the same. A page is that text with headings, flags and words set as manual pages set them.
use strict;
use warnings;

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

sub write_page {
    my ($name, $summary, $version, @lines) = @_;
    my @page = (
        '.\" Written by cmake/man.pl from the help text of the program.',
        '.TH ' . uc($name) . " 1 \"\" \"Parley $version\" \"User Commands\"",
        '.SH NAME', text($name) . ' \- ' . text($summary), '.SH SYNOPSIS', '.nf'
    );
    while (@lines && $lines[0] =~ /^(?:usage:| {7})\s*(\S.*)/) {
        push @page, text($1);
        shift @lines;
    }
    push @page, '.fi', '.SH DESCRIPTION';
    my $is_item = 0; # inside the text of a flag or word
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my $next = $lines[$i + 1] // '';
        if ($line eq '') {
            push @page, '.PP' if $page[-1] !~ /^\.(?:PP|SH|SS)/;
            $is_item = 0;
        }
        elsif ($next =~ /^ {2}\S/ && $line =~ /^([A-Z][^.]*[^.,])$/) {
            (my $heading = $1) =~ s/:$//;
            pop @page if $page[-1] eq '.PP';
            push @page, '.SS ' . text($heading);
            $is_item = 0;
        }
        elsif ($line =~ /^ {2}(--\S.*)$/) {
            push @page, '.TP', '\fB' . text($1) . '\fR';
            $is_item = 1;
        }
        elsif ($line =~ /^ {2}(\S+) {2,}(\S.*)$/ || $line =~ /^ {2}([a-z]+) (\S.*)$/ && $name eq 'parley') {
            push @page, '.TP', '\fB' . text($1) . '\fR', text($2);
            $is_item = 1;
        }
        elsif ($line =~ /^ {4,}(\S.*)$/ && $is_item) {
            push @page, text($1);
        }
        elsif ($line =~ /^ {2}(\S.*)$/) {
            push @page, text($1);
        }
        else {
            (my $stripped = $line) =~ s/^\s+//;
            push @page, text($stripped);
        }
    }
    pop @page while $page[-1] eq '.PP';
    push @page, '.SH SEE ALSO', $name eq 'parley' ? 'The handbook: any node shows it at /handbook.' : '\fBparley\fR(1)';
    open my $file, '>', "$folder/$name.1" or die "man.pl: $folder/$name.1: $!\n";
    print $file map { "$_\n" } @page;
    close $file or die "man.pl: $folder/$name.1: $!\n";
}

my $version = `$program version` =~ /(\d+\.\d+\.\d+)/ ? $1 : die "man.pl: $program has no version\n";
my @top = help();
write_page('parley', 'a public, load-balanced front end for private inference engines', $version, @top);
my $is_command = 0;
for my $line (@top) {
    if ($line eq 'Commands:') { $is_command = 1; next }
    last if $is_command && $line eq '';
    next unless $is_command && $line =~ /^ {2}(\S+)\s+(\S.*)$/;
    write_page("parley-$1", $2, $version, help($1));
}
