#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Who may include what. The table is the rule; style and reasons are in docs/architecture.md.
# Before it looks at the project it checks itself on includes that must be refused and allowed.
use strict;
use warnings;
use File::Find;

# A module of shared/ and those that it may use. Each may include itself.
my %stands_on = (
    base    => [],
    op      => [qw(base)],
    metrics => [qw(base)],
    redis   => [qw(base op metrics)],
    auth    => [qw(base)],
    http    => [qw(base op metrics redis auth text)],
    queue   => [qw(base op metrics redis)],
    lease   => [qw(base op redis queue)],
    ask     => [qw(base op metrics redis auth http queue)],
    answer  => [qw(base op metrics redis http queue)],
    text    => [qw(base)],
    extract => [qw(base op text)],
    embed   => [qw(base op metrics http text)],
    search  => [qw(base text)],
    corpus  => [qw(base op text extract embed search)],
);

# The rooms of shared/http and those that each may use, too.
my %rooms = (
    client    => [],
    wire      => [],
    request   => [qw(wire)],
    access    => [qw(wire request client)],
    websocket => [qw(wire request access)],
    server    => [qw(wire request access websocket)],
);

# Returns why a file of the room FROM of shared/http must not include one of the room INTO.
sub room_refusal {
    my ($from, $into) = @_;
    return "shared/http/$from is in no table: add it to tests/lint/boundaries.pl" unless $rooms{$from};
    return undef if $into eq $from or grep { $_ eq $into } @{$rooms{$from}};
    return "shared/http/$from stands on " . (join(', ', @{$rooms{$from}}) || 'no other room');
}

# Returns why FILE must not include INCLUDE, or undef if it may.
sub refusal {
    my ($file, $include) = @_;
    my ($area, $module) = $file =~ m{^(shared|services)/(?:([^/]+)/)?} or return undef;
    if ($include =~ m{^(hiredis/|async\.h$|hiredis\.h$)}) {
        return $file =~ m{^shared/redis/} ? undef : 'hiredis belongs to shared/redis alone';
    }
    if ($include =~ m{^h2o(\.h$|/)}) {
        return $file =~ m{^shared/(http/wire|op)/} ? undef : 'libh2o belongs to shared/http/wire and shared/op';
    }
    if ($include =~ m{^tests/}) {
        return 'the product does not include its tests';
    }
    $include = 'shared/redis/verb.h' if $include =~ m{^generated/verb}; # is where verb.h is
    $include =~ s{^generated/routes_(\w+)\.h$}{services/$1/routes.h}; # belongs to the service
    my ($into, $target) = $include =~ m{^(shared|services)/(?:([^/]+)/)?} or return undef;
    if ($area eq 'shared') {
        return 'shared never includes a service' if $into eq 'services';
        return "shared/$module is in no table: add it to tests/lint/boundaries.pl"
            unless $stands_on{$module};
        if ($module eq 'http' and $target eq 'http') {
            my ($from, $room) = map { m{^shared/http/([^/]+)/} ? $1 : '' } $file, $include;
            return room_refusal($from, $room);
        }
        return undef if $target eq $module or grep { $_ eq $target } @{$stands_on{$module}};
        return "shared/$module stands on " . (join(', ', @{$stands_on{$module}}) || 'nothing');
    }
    # main.c and services/node put the services together; both and the small commands may be included.
    return undef if $into eq 'shared' or not defined $module or $module eq 'node';
    return undef if $target eq 'node' or $target eq 'commands';
    return $target eq $module ? undef : 'services never include each other';
}

my @known = (
    ['shared/base/a.c',       'shared/redis/redis.h',      1],
    ['shared/base/a.c',       'shared/base/str.h',         0],
    ['shared/redis/a.h',      'shared/http/server/server.h',      1],
    ['shared/redis/a.c',      'hiredis/hiredis.h',         0],
    ['shared/queue/a.c',      'hiredis/async.h',           1],
    ['shared/queue/a.c',      'services/broker/broker.h',  1],
    ['shared/queue/a.c',      'generated/routes_broker.h', 1],
    ['shared/queue/a.c',      'generated/verbs.h',         0],
    ['shared/base/a.c',       'generated/verbs.h',         1],
    ['shared/http/wire/a.c',  'shared/http/request/a.h',   1],
    ['shared/http/wire/a.c',  'shared/http/wire/a.h',      0],
    ['shared/http/access/a.c', 'shared/http/request/a.h',  0],
    ['shared/http/attic/a.c', 'shared/http/wire/a.h',      1],
    ['shared/http/request/a.c', 'h2o.h',                    1],
    ['shared/op/loop.h',      'h2o.h',                     0],
    ['services/broker/a.c',   'shared/queue/queue.h',      0],
    ['services/broker/a.c',   'services/engine/engine.h',  1],
    ['services/broker/a.c',   'generated/routes_broker.h', 0],
    ['services/broker/a.c',   'generated/routes_bots.h',   1],
    ['services/broker/deep/a.c', 'services/engine/engine.h', 1],
    ['services/broker/a.c',   'services/broker/deep/a.h',  0],
    ['services/node/serve.c', 'services/broker/broker.h',  0],
);
for (@known) {
    my ($file, $include, $is_refused) = @$_;
    die "boundaries: the check itself is broken: $file, $include\n"
        if defined(refusal($file, $include)) != $is_refused;
}

my ($file_n, $include_n, $bad) = (0, 0, 0);
find({no_chdir => 1, wanted => sub {
    return unless /\.[ch]$/;
    $file_n++;
    open(my $in, '<', $_) or die "$_: $!\n";
    while (my $line = <$in>) {
        if ($line =~ /\bredisReply\b/ and not m{^shared/redis/} and not m{/store\.[ch]$}) {
            print STDERR "$_:$.: redisReply outside shared/redis and a store\n";
            $bad++;
        }
        next unless $line =~ /^\s*#\s*include\s*["<]([^">]+)[">]/;
        $include_n++;
        my $why = refusal($_, $1) or next;
        print STDERR "$_:$.: must not include $1: $why\n";
        $bad++;
    }
}}, 'shared', 'services');
die "boundaries: found no file to look at\n" unless $file_n and $include_n;
exit 1 if $bad;
print "boundaries: looked at $file_n files with $include_n includes, no finding\n";
