#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# settings.pl PARLEY: prints .env as it should be: what is above its line of dashes stays, and below it is every setting of
# nodes and of the engine as PARLEY's help texts explain it, except those that docker-compose.yml sets, and the login, which
# only commands that people type read.
#   perl deploy/compose/settings.pl build/release/parley >.env.new && mv .env.new .env
use strict;
use warnings;

my $parley = shift // die "usage: settings.pl PARLEY\n";
my $mark = "# --- Settings of `parley` ---\n";

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

my ($env, $compose) = (slurp('.env'), slurp('docker-compose.yml'));
my ($head) = $env =~ /\A(.*?)^\Q$mark\E/ms or die ".env: there is no line '$mark'";
my %is_set = map { $_ => 1 } 'PARLEY_CONFIG', 'PARLEY_CHECK_CONFIG', 'PARLEY_LOGIN_FILE', $compose =~ /(?<![{\w])(PARLEY_\w+):\s/g,
    $head =~ /^#(PARLEY_\w+)=/gm;

sub wrap {
    my ($text, $line, @lines) = ($_[0], '#');
    for my $word (split ' ', $text) {
        if (length($line) + 1 + length($word) > 110) {
            push @lines, $line;
            $line = '#';
        }
        $line .= " $word";
    }
    return join("\n", @lines, $line) . "\n";
}

print $head, $mark, wrap('Each with its default; take away the "#" to set it. What follows is generated from the help texts: perl deploy/compose/settings.pl PARLEY'), "\n";
my %seen;
for my $part (['serve', 'nodes and the indexer'], ['engine', 'the engine']) {
    my ($command, $of) = @$part;
    my $help = qx{'$parley' $command --help};
    die "settings.pl: $parley $command --help failed\n" if $? or not length $help;
    print "# Of $of (parley $command --help)\n\n";
    my $n = 0;
    while ($help =~ /^  --[a-z0-9-]+[^\n]*\n((?: {8}[^\n]*\n)+)/gm) {
        my $text = $1 =~ s/\s+/ /gr;
        my ($name) = $text =~ /Environment: (PARLEY_\w+)\./ or next;
        next if $is_set{$name} or $seen{$name}++;
        my $default = $text =~ s/ Environment: PARLEY_\w+\.(?: Default: (\S+?)\.?)? *$//r;
        my ($value) = $text =~ /Default: (\S+?)\.? *$/;
        print wrap($default), "#$name=", $value // '', "\n\n";
        $n++;
    }
    die "settings.pl: $parley $command --help has no settings\n" unless $n;
}
