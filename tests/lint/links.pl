#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Links between our Markdown files lead somewhere: the file exists, and the heading too.
use strict;
use warnings;
use File::Basename;
use File::Find;

sub slurp {
    open(my $in, '<:encoding(UTF-8)', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# The anchors that a renderer makes from the headings of a text, and those that it names itself.
sub anchors {
    my %anchors;
    for ($_[0] =~ /^#{1,6}\s+(.+?)\s*$/mg) {
        my $a = lc;
        $a =~ s/[^\w\s-]//g;
        $a =~ s/\s/-/g;
        $anchors{$a} = 1;
    }
    $anchors{$_} = 1 for $_[0] =~ /<a id="([^"]+)"><\/a>/g;
    return \%anchors;
}

my ($n, $link_n, $bad) = (0, 0, 0);
find({no_chdir => 1, wanted => sub {
    return $File::Find::prune = 1 if m{/node_modules$};
    return unless /\.md$/;
    my $path = $_;
    $n++;
    my $text = slurp($path);
    $text =~ s/^```.*?^```//msg;
    while ($text =~ /\]\(([^()\s]+)\)/g) {
        my $link = $1;
        next if $link =~ m{^[a-z]+:}i;
        $link_n++;
        my ($file, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
        my $target = $file eq '' ? $path : dirname($path) . "/$file";
        if (not -e $target) {
            print STDERR "$path: $link leads nowhere\n";
            $bad++;
        } elsif (defined $anchor and $target =~ /\.md$/ and not anchors(slurp($target))->{$anchor}) {
            print STDERR "$path: $link: no such heading\n";
            $bad++;
        }
    }
}}, glob('*.md'), grep { -d } qw(docs services tests k8s));
die "links: found no file to look at\n" unless $n;
exit 1 if $bad;
print "links: looked at $n files with $link_n links, no finding\n";
