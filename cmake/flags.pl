#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# flags.pl - writes the settings of commands into docs/operations, from the rows in the code: between a line `<!-- flags: serve -->`
# (or another command), `<!-- flags of several commands -->` or `<!-- targets -->` and a line `<!-- end -->`.
#   flags.pl          writes them
#   flags.pl --check  fails if a page has not what the code says, or a command has no place
# A group of options is on one page only: those of `parley serve` on its page, those that several other commands take in a section
# of their own. Elsewhere a link leads there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp);
use Options qw(read_options);

use constant {OF_SERVE => 'configure.md', OF_SEVERAL => 'commands.md'};
# Those whose --help is enough: no node and no engine takes their flags.
my %is_left_to_help = map { $_ => 1 } qw(bench extract link logout sign);

my $is_check = @ARGV && $ARGV[0] eq '--check' && shift @ARGV;
die "usage: flags.pl [--check]\n" if @ARGV;
my $has = read_options();
my ($flag_n, $bad) = (0, 0);

# --- which group is where --------------------------------------------------------------------------

sub unique {
    my %seen;
    return grep { not $seen{$_}++ } @_;
}

sub groups_of {
    my ($name) = @_;
    my $command = $has->{commands}{$name} // die "flags: no command $name\n";
    return unique(@{$command->{groups}}, $command->{services} ? map { @{$has->{services}{$_}{groups}} } @{$has->{targets}} : ());
}

my @described = grep { not $is_left_to_help{$_} and groups_of($_) } sort keys %{$has->{commands}};
my %page_of = map { $_ => OF_SERVE } groups_of('serve');
my %use_n;
$use_n{$_}++ for map { groups_of($_) } @described;
my @several = grep { not $page_of{$_} and $use_n{$_} > 1 } unique(map { groups_of($_) } @described);
$page_of{$_} = OF_SEVERAL for @several;

# --- text ------------------------------------------------------------------------------------------

# Words that match become code, except those that are.
sub as_code {
    my ($text, $pattern) = @_;
    return join('', map { /^`/ ? $_ : s/($pattern)/`$1`/gr } split(/(`[^`]*`)/, $text));
}

# A help text as Markdown: flags, addresses and words with marks of Markdown are code.
sub text_of {
    my ($help) = @_;
    my $in = qr/[^\s`,;()']/;
    my $text = as_code($help, qr/(?<![\w-])--[a-z0-9-]+|[a-z+]+:\/[^\s;)]*[^\s,;).:]/);
    return as_code($text, qr/$in*[*_<>\[\]\\](?:$in*[^\s`,;()'.:])?/) =~ s/\|/\\|/gr;
}

sub table_of {
    my ($group) = @_;
    my $text = "| Flag | Default | Meaning |\n|---|---|---|\n";
    for (@{$group->{rows}}) {
        my $name = $_->{metavar} ne '' ? "$_->{flag} $_->{metavar}" : $_->{flag};
        my $default = $_->{fallback} ne '' ? " `$_->{fallback}`" : '';
        my $choices = join(', ', map { "`$_`" } split(/\|/, $_->{choices}));
        $text .= "| `--$name` |$default | " . text_of($_->{help}) . ($choices ne '' ? " Values: $choices." : '') . " |\n";
        $flag_n++;
    }
    return $text;
}

sub sections_of {
    return join("\n", map { "### $has->{groups}{$_}{title}\n\n" . table_of($has->{groups}{$_}) } @_);
}

sub link_to {
    my ($id, $here) = @_;
    my $title = $has->{groups}{$id}{title};
    my $page = $page_of{$id} eq $here ? '' : $page_of{$id};
    return "[$title]($page#" . (lc $title =~ s/ /-/gr) . ')';
}

sub flags_of {
    my ($name, $here) = @_;
    return sections_of(groups_of($name)) if $name eq 'serve';
    my @own = grep { not $page_of{$_} } groups_of($name);
    my @links = map { link_to($_, $here) } grep { $page_of{$_} } groups_of($name);
    my @parts = map { ($_->{title} eq 'Flags' ? '' : "$_->{title}:\n\n") . table_of($_) } map { $has->{groups}{$_} } @own;
    my $last = pop @links // return join("\n", @parts);
    return join("\n", @parts, 'It also takes the flags of ' . (@links ? join(', ', @links) . ' and ' : '') . "$last.\n");
}

sub targets {
    my $text = "| Target | What runs then |\n|---|---|\n";
    for my $name (@{$has->{targets}}) {
        my $service = $has->{services}{$name};
        my $with = join(' and ', map { "`$_`" } split(/,/, $service->{comes_with}));
        $text .= "| `$name` | " . text_of($service->{summary}) . ($with ne '' ? "; comes with $with" : '') . " |\n";
    }
    return $text;
}

# --- pages -----------------------------------------------------------------------------------------

my %is_there;
sub block_of {
    my ($mark, $here) = @_;
    $is_there{$mark}++;
    return targets() if $mark eq 'targets';
    return sections_of(@several) if $mark eq 'flags of several commands';
    return flags_of($mark =~ s/^flags: //r, $here);
}

for my $path (glob('docs/operations/*.md')) {
    my $text = slurp($path);
    my $here = $path =~ s{.*/}{}r;
    my $now = $text =~ s/^(<!-- (targets|flags: \w+|flags of several commands) -->\n\n).*?^(<!-- end -->\n)/$1 . block_of($2, $here) . "\n$3"/gmser;
    next if $now eq $text;
    if ($is_check) {
        print STDERR "$path: it is not what the code says: run 'perl cmake/flags.pl'\n";
        $bad++;
        next;
    }
    open(my $out, '>:raw', $path) or die "$path: $!\n";
    print $out $now;
    close($out) or die "$path: $!\n";
}
for ('targets', 'flags of several commands', map { "flags: $_" } @described) {
    next if $is_there{$_};
    print STDERR "docs/operations: no line '<!-- $_ -->'\n";
    $bad++;
}
exit 1 if $bad;
print "flags: wrote $flag_n flags of " . @described . " commands\n" unless $is_check;
