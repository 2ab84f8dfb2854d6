#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What happened to a query, from the logs of nodes and engines, as text or as JSON:
#   trace.pl TOPIC [SEQ] FILE...
# Prints the lines that name the topic, and those of the same requests, in the order of their times. A file may also
# be that of another tool with something before each line, as `docker compose logs` writes. Ends with 1 when there are
# none, and with 3 when none is of level debug, which has the most detail.
use strict;
use warnings;
use JSON::PP;

binmode STDOUT, ':utf8';
my $usage = "usage: trace.pl TOPIC [SEQ] FILE...\n";
my $topic = shift // die $usage;
my $seq = @ARGV && $ARGV[0] =~ /^\d+$/ ? shift : undef;
die $usage unless @ARGV;

my $TIME = qr/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/;
my $json = JSON::PP->new->utf8;

# Nodes write a topic as it stands in their keys, engines as they get it.
sub name_of { $_[0] =~ s/([^A-Za-z0-9._-])/sprintf '%%%02X', ord $1/ger }
my ($namespace, $rest) = $topic =~ /^([^~]+)~(.*)$/s;
my %is_topic = map {$_ => 1} $topic, name_of($topic), defined $rest ? "$namespace~" . name_of($rest) : ();
my @needles = map {my $quoted = $json->allow_nonref->encode(utf8_of($_)); substr $quoted, 1, -1} keys %is_topic;

sub utf8_of {
    my ($bytes) = @_;
    utf8::decode($bytes);
    return $bytes;
}

# One line as {time, message, level, fields}, fields being names and values in their order; undef for another line.
sub read_line {
    my ($line) = @_;
    if ($line =~ /(\{"time":"$TIME",.*\})\s*$/) {
        my $text = $1;
        my $got = eval { $json->decode($text) } or return undef;
        my @names = grep {exists $got->{$_}} map {utf8_of($_)} $text =~ /[{,]"(\w+)":/g;
        my %seen = map {$_ => 1} qw(time level message);
        return {%$got{qw(time level message)}, fields => [map {[$_, $got->{$_}]} grep {!$seen{$_}++} @names]};
    }
    my ($time, $level, $rest) = $line =~ /($TIME) (\w+) +(.*)$/ or return undef;
    my @fields;
    while ($rest =~ s/ (\w+)=("(?:[^"\\]|\\.)*"|\w+)$//) {
        my ($name, $value) = ($1, $2);
        unshift @fields, [$name, $value =~ /^"/ ? eval { $json->allow_nonref->decode($value) } // $value : $value];
    }
    return {time => $time, level => $level, message => utf8_of($rest), fields => \@fields};
}

# The lines of the files, those that hold one of the words; what `pick` returns true for is kept.
sub each_line {
    my ($words, $pick) = @_;
    my $pattern = join '|', map {quotemeta} @$words;
    $pattern = qr/$pattern/;
    for my $file (@ARGV) {
        open(my $in, '<:raw', $file) or die "$file: $!\n";
        my $who = $file =~ s{.*/}{}r =~ s/\.log(\.1)?$//r;
        while (my $text = <$in>) {
            next unless $text =~ $pattern;
            my $line = read_line($text) or next;
            $line->{who} = $who;
            $line->{is} = {map {@$_} @{$line->{fields}}};
            $pick->($line);
        }
    }
}

sub is_about {
    my ($is) = @_;
    my $named = $is->{topic} // return 0;
    utf8::encode($named);
    return 0 unless $is_topic{$named};
    return !defined $seq || !defined $is->{seq} || $is->{seq} == $seq;
}

my (%id, @lines, @more);
each_line(\@needles, sub {
    my ($line) = @_;
    return unless is_about($line->{is});
    $id{$line->{is}{id}} = 1 if defined $line->{is}{id};
    push @lines, $line;
});
each_line([keys %id], sub {
    my ($line) = @_;
    push @lines, $line if $id{$line->{is}{id} // ''} and not defined $line->{is}{topic};
}) if %id;
exit 1 unless @lines;

# A request's line says first what it was.
sub shown {
    my ($line) = @_;
    my %is = %{$line->{is}};
    my @hidden = ('topic');
    my $what = $line->{message};
    if ($what eq 'request') {
        $what = join ' ', grep {length} $is{method} // '', $is{route};
        $what .= " -> $is{status}";
        $what .= sprintf ' in %.1f ms', $is{us} / 1000;
        $what .= " for $is{account}" if length($is{account} // '');
        push @hidden, qw(method route status us account);
    }
    my %is_hidden = map {$_ => 1} @hidden;
    my @fields = map {"$_->[0]=$_->[1]"} grep {!$is_hidden{$_->[0]} and length $_->[1]} @{$line->{fields}};
    my $level = $line->{level} =~ /^(warn|error)$/ ? "$line->{level}: " : '';
    my $text = $level . join '  ', $what, @fields;
    return $text =~ s/[\p{Cc}\p{Cf}\x{2028}\x{2029}]//gr; # nothing that steers a terminal
}

my $width = 0;
for (@lines) { $width = length $_->{who} if length $_->{who} > $width }
my $day = '';
for my $line (sort {$a->{time} cmp $b->{time}} @lines) {
    my ($date, $time) = $line->{time} =~ /^(.*)T(.*)Z$/;
    print "$date\n" if $date ne $day;
    $day = $date;
    printf "%-12s  %-*s  %s\n", $time, $width, $line->{who}, shown($line);
}
exit 3 unless grep {$_->{level} eq 'debug'} @lines;
