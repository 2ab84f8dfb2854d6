#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# prose.pl - phrases that a native engineer would not write, in Markdown, in the help and error texts of C,
# Lua and ./dev, and in openapi.yaml. Only phrases without an honest use are listed, so each finding is one to
# rewrite. Code in Markdown is not read, nor are the changelog's entries of former releases.
# `prose.pl FILE...` reads those files only. README.md fits on two screens.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Find;

# A pattern, and what to write for it. They are matched against paragraphs on one line, without code.
my @phrases = (
    [qr/\btold\b(?! apart)/i, 'report, send, notify; "unless X says otherwise"; "by default"'],
    [qr/\btells\b/i, 'reports, shows, returns'],
    [qr/\banew\b/i, 'again'],
    [qr/\bfor ever\b/i, 'forever, indefinitely'],
    [qr/(?<!not only )(?<!not )\bbut for (?:the|a|an|one|those|that|what|its|their)\b/i, 'except'],
    [qr/\bwho(?:so)?ever\b/i, '"If you ..."; "the client"; "the first one to"'],
    [qr/\batoms?\b/i, 'one atomic step'],
    [qr/\bhears? of\b/i, 'is notified of, receives'],
    [qr/\b(?:has|have|had) Failed\b/, 'is marked Failed'],
    [qr/(?<!there )\bis no (?:id|account|user|node|topic|name) of the\b/i, 'is not a ... of'],
    [qr/\bno (?:id|topic|document) of the (?:owner|user)'s\b/i, 'not one of the owner\'s ...'],
    [qr/\bgo(?:es)? with (?:it|them|the last|its)\b/i, 'is deleted with'],
    [qr/\bseen lately\b/i, 'seen recently'],
    [qr/\b(?:made|begun|written|computed|opened|sent) anew\b/i, 'again'],
    [qr/\bcontract,? sections?\b|\bsection \d+ of the contract\b/i, 'docs/openapi.yaml or a page of the handbook'],
    [qr/\bsays? how (?:much|many|long) there (?:is|are)\b/i, 'shows, counts'],
    [qr/\blet go of\b/i, 'release, delete'],
    [qr/\bof which nobody\b|\bof whom nothing\b/i, 'turn the clause around'],
    [qr/\b(?:ask|asks|asked) again and again\b/i, 'poll'],
);

my ($file_n, $bad) = (0, 0);

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# Blanks out what a pattern matches and keeps its newlines, so that numbers of lines stay right.
sub blank {
    my ($text) = @_;
    $text =~ s/[^\n]/ /g;
    return $text;
}

sub look_at {
    my ($path, $line, $text) = @_;
    for (@phrases) {
        my ($pattern, $instead) = @$_;
        my $flat = $text =~ s/\s/ /gr;
        while ($flat =~ /$pattern/g) {
            my $before = substr($text, 0, $-[0]);
            print STDERR "$path:" . ($line + ($before =~ tr/\n//)) . qq(: "$&": write: $instead\n);
            $bad++;
        }
    }
}

sub look_at_markdown {
    my ($path, $text) = @_;
    $text =~ s/^(```.*?^```)/blank($1)/msge;
    $text =~ s/(`[^`]*`)/blank($1)/ge;
    # Entries of former releases stay as they were published.
    $text =~ s/\A(.*?^## .*?^)(?=## )(.*)\z/$1/ms if $path eq 'CHANGELOG.md';
    look_at($path, 1, $text);
}

# Texts that users read: literals of at least three words. Adjacent ones are one text.
sub look_at_literals {
    my ($path, $text) = @_;
    $text =~ s{(/\*.*?\*/)}{blank($1)}gse if $path =~ /\.[ch]$/;
    while ($text =~ /((?:"(?:[^"\\\n]|\\.)*"\s*)+)/g) {
        my ($literal, $at) = ($1, $-[0]);
        next unless $literal =~ /\w+ \w+ \w+/;
        $literal =~ s/"(\s+)"/" $1 "/g;
        $literal =~ s/"/ /g;
        $literal =~ s/\\n/  /g;
        $literal =~ s/ {2,}(?=\S)/ /g;
        look_at($path, 1 + (substr($text, 0, $at) =~ tr/\n//), $literal);
    }
}

sub look_at_file {
    my ($path) = @_;
    $file_n++;
    my $text = slurp($path);
    return look_at_markdown($path, $text) if $path =~ /\.md$/;
    return look_at_literals($path, $text) if $path =~ /\.[ch]$/;
    look_at($path, 1, $text);
}

if (@ARGV) {
    look_at_file($_) for @ARGV;
} else {
    find({no_chdir => 1, wanted => sub {
        return $File::Find::prune = 1 if m{/(node_modules|corpus|fixtures|reports)$};
        return unless -f and (/\.md$/ or m{^(?:shared|services)/.*\.[ch]$} or m{^docs/openapi\.yaml$|^dev$});
        look_at_file($_);
    }}, glob('*.md'), grep { -e } qw(dev cmake docs services shared tests));
}
# README is what a newcomer reads first: two screens of it.
my ($lines_max, $columns_max) = (100, 100);
if (!@ARGV) {
    my @lines = split /\n/, slurp('README.md');
    my @wide = grep { length $lines[$_ - 1] > $columns_max } 1 .. @lines;
    $bad += @wide + (@lines > $lines_max);
    print STDERR "README.md:$_: wider than $columns_max columns\n" for @wide;
    print STDERR "README.md: " . @lines . " lines are more than two screens ($lines_max)\n" if @lines > $lines_max;
}
die "prose: found no file to look at\n" unless $file_n;
exit 1 if $bad;
print "prose: looked at $file_n files, no finding\n";
