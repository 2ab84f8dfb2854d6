# SPDX-License-Identifier: MIT
#
# RouteFile: reads the files of routes (Routes.pm) into entries. A file is YAML: block maps whose keys have two more
# spaces than the key above, and below them whatever YAML knows. What describes JSON (schemas, examples, texts) stays text
# here, and is copied. Paths are relative to the source root, the working directory.
#
# An entry is {key, value, lines, indent, path, line}: the text after `key:`, and the lines below it as [number, text].
# Faults are put into a list, as "file:line: why".
package RouteFile;
use strict;
use warnings;
use CText qw(slurp);
use Nearest qw(nearest);

# In braces: a text in quotes, something in braces or brackets, or a text without commas.
my $QUOTED = qr/'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"/;
my $NESTED;
$NESTED = qr/[\[{](?:[^\[\]{}'"]|(?<=\w)['"]|$QUOTED|(??{$NESTED}))*[\]}]/;
my $VALUE = qr/$QUOTED|$NESTED|[^,\[\]{}'"][^,\[\]{}]*/;

sub fault {
    my ($faults, $at, $why) = @_;
    push @$faults, "$at->{path}:$at->{line}: $why";
    return;
}

# The entries of a file: its keys without spaces before them.
sub read {
    my ($path, $faults) = @_;
    my $n = 0;
    my @lines = map {[++$n, $_]} split(/\n/, slurp($path));
    $_->[1] =~ /\t/ and fault($faults, {path => $path, line => $_->[0]}, 'a tab: YAML takes spaces') for @lines;
    return entries({path => $path, lines => \@lines, indent => -2}, $faults);
}

# The entries below one.
sub entries {
    my ($above, $faults) = @_;
    my ($indent, @found) = $above->{indent} + 2;
    for (@{$above->{lines}}) {
        my ($line, $text) = @$_;
        my ($spaces) = $text =~ /^( *)/;
        if ($text eq '' or length $spaces > $indent) {
            push @{$found[-1]{lines}}, $_ if @found;
        } elsif (length $spaces == $indent and my ($key, $value) = substr($text, $indent) =~ /^([\$\w'][^:]*):(?: +(.*))?$/) {
            push @found, {key => $key, value => $value // '', lines => [], indent => $indent, path => $above->{path}, line => $line};
        } elsif (length $spaces < $indent or $text !~ /^ *#/) {
            fault($faults, {path => $above->{path}, line => $line}, "'" . substr($text, length $spaces) . "' is not as in 'key: value', $indent spaces in");
        }
    }
    for my $entry (@found) {
        pop @{$entry->{lines}} while @{$entry->{lines}} and $entry->{lines}[-1][1] eq '';
    }
    return \@found;
}

# The entries of `{one: 1, two: [2, 3]}`.
sub entries_in_braces {
    my ($above, $faults) = @_;
    my ($inner, @found) = text_of($above) =~ /^\{(.*)\}$/;
    while (defined $inner and $inner =~ /\G([\w-]+): ($VALUE)(?:, |$)/gc) {
        push @found, {%$above, key => $1, value => $2, lines => []};
    }
    fault($faults, $above, "this is not as in '{key: value, key: value}'; a text with a comma is in quotes")
        unless defined $inner and (pos($inner) // 0) == length $inner;
    return \@found;
}

# The entries below one by key. Each key is one of `$known`, once.
sub members {
    my ($above, $known, $faults) = @_;
    my %found;
    for my $entry (@{$above->{value} =~ /^\{/ ? entries_in_braces($above, $faults) : entries($above, $faults)}) {
        my $key = $entry->{key};
        fault($faults, $entry, "$key is in line $found{$key}{line} already") if $found{$key};
        fault($faults, $entry, unknown('key', $key, @$known)) unless grep {$key =~ /^$_$/} @$known;
        $found{$key} //= $entry;
    }
    return \%found;
}

# What an entry has after its key, as one line.
sub text_of {
    my ($entry) = @_;
    return join(' ', $entry->{value}, map {$_->[1] =~ s/^ +//r} @{$entry->{lines}});
}

# The words of `[one, two]`, or of `one`.
sub words {
    my ($entry) = @_;
    return () unless $entry;
    return split(/,\s*/, text_of($entry) =~ s/^\[(.*)\]$/$1/r);
}

# The items below an entry: each begins with `- ` and is {text, lines, indent, path, line}.
sub items {
    my ($above, $faults) = @_;
    return map {{text => $_, lines => [], indent => $above->{indent} + 2, path => $above->{path}, line => $above->{line}}} words($above)
        if $above->{value} ne '';
    my ($indent, @found) = $above->{indent} + 2;
    for (@{$above->{lines}}) {
        my ($line, $text) = @$_;
        if ($text =~ /^ {$indent}- (.*)$/) {
            push @found, {text => $1, lines => [], indent => $indent, path => $above->{path}, line => $line};
        } elsif (@found and $text =~ /^ {$indent} /) {
            push @{$found[-1]{lines}}, $_;
        } else {
            fault($faults, {path => $above->{path}, line => $line}, "an item begins with $indent spaces and '- '");
        }
    }
    return @found;
}

# The lines of an entry or an item, so that they begin with that many spaces.
sub lines_at {
    my ($entry, $indent) = @_;
    my $first = exists $entry->{key} ? join(' ', "$entry->{key}:", grep {$_ ne ''} $entry->{value}) : "- $entry->{text}";
    return (' ' x $indent . $first, lines_below($entry, $indent));
}

sub lines_below {
    my ($entry, $indent) = @_;
    return map {$_->[1] eq '' ? '' : ' ' x $indent . substr($_->[1], $entry->{indent})} @{$entry->{lines}};
}

# Why a name is refused, with the one that is meant.
sub unknown {
    my ($what, $name, @known) = @_;
    my $meant = nearest($name, @known);
    return "there is no $what '$name'" . ($meant ne '' ? ": '$meant'?" : @known <= 20 ? ': ' . join(', ', @known) : '');
}

1;
