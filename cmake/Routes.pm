# SPDX-License-Identifier: MIT
#
# Routes: reads what is written about the routes of all services (ADR 88): the rows in services/*/routes.yaml, and what they name in
# services/*/schemas.yaml and services/web/openapi/. RoutesC.pm makes tables in C of it, OpenApi.pm the description that nodes
# serve. CONTRIBUTING.md says what a row holds. Paths are relative to the source root, the working directory.
#
#   my $api = Routes::read();
#   $api->{tables}   list of {name, path, include, health, routes}, one per service, in the order of services/node/table.c
#   $api->{parts}    {SECTION => {NAME => entry}} (RouteFile.pm); a problem also has {of, codes, status}
#   $api->{names}    {SECTION => [NAME...]}, in the order of the files
#   $api->{faults}   what is wrong, as "file:line: why"
#
# A route is {row, method, path, spellings, roles, flags, of, parameters, responses}: `row` is its entry, `of` has the entries
# below it by key, `spellings` every [method, path], `responses` {status, name} or {status, entry}.
package Routes;
use strict;
use warnings;
use CText qw(slurp);
use File::Find;
use RouteFile;

use constant HEAD => 'services/web/openapi/head.yaml';

our @ROLES = qw(frontend user engine operator);
# Members of struct route (shared/http/request/route.h).
our @FLAGS = qw(takes_signed_body takes_token_param takes_api_key takes_basic takes_key hands_out is_held speaks_for_folder uses_nonce_itself is_always_sent);
our @MEMBERS = qw(body_max_bytes body_setting too_large audit put_problem put_challenge is_open is_caller_key);
our @SECTIONS = qw(securitySchemes parameters headers responses problems schemas);
# What rows may leave out if `usual:` has it.
my @USUAL = qw(tag roles problems put_problem is_open);
my @ROW = (qw(handler operationId checks flags also_paths also_methods summary description parameters body content), @USUAL, @MEMBERS,
    qr/[1-5]\d\d/);
my @NEEDED = qw(handler operationId tag roles summary);
my %PROBLEM_OF_ALL = (400 => 'BadRequest', 413 => 'TooLarge', 414 => 'UriTooLong', 415 => 'Encoded', 431 => 'HeadersTooLarge', 500 => 'Internal');
my %PROBLEM_OF_ACCOUNTS = (401 => 'Unauthorized', 403 => 'Forbidden', 429 => 'TooManyFailures', 503 => 'Unavailable');
# A schema that is named in short: `$Name`.
our $SHORT = qr/(?<![^\s\[])\$([A-Z]\w*)(?=[\s,\]}]|$)/;

sub fault {
    my ($api, $at, $why) = @_;
    return RouteFile::fault($api->{faults}, $at, $why);
}

# Each word of an entry is one of these.
sub known_words {
    my ($api, $entry, $what, @known) = @_;
    my @words = RouteFile::words($entry);
    for my $word (@words) {
        fault($api, $entry, RouteFile::unknown($what, $word, @known)) unless grep {$_ eq $word} @known;
    }
    return @words;
}

# --- what rows name ----------------------------------------------------------------------------------

# A problem has codes of shared/base/err.h, all of one status.
sub read_problem {
    my ($api, $problem, $status_of) = @_;
    my $of = $problem->{of} = RouteFile::members($problem, [qw(codes schema headers description html)], $api->{faults});
    return fault($api, $problem, "$problem->{key} has no $_") for grep {not $of->{$_}} qw(codes description);
    my @codes = known_words($api, $of->{codes}, 'code', sort keys %$status_of);
    my %statuses = map {$status_of->{$_} // 0 => 1} @codes;
    fault($api, $of->{codes}, 'codes of several statuses: ' . join(', ', map {"$_ is $status_of->{$_}"} @codes)) if keys %statuses > 1;
    ($problem->{status}) = keys %statuses;
    return;
}

sub read_section {
    my ($api, $section) = @_;
    for my $entry (@{RouteFile::entries($section, $api->{faults})}) {
        my ($kind, $name) = ($section->{key}, $entry->{key});
        my $other = $api->{parts}{$kind}{$name};
        fault($api, $entry, "$kind: $name is in $other->{path}:$other->{line}, too") if $other;
        push @{$api->{names}{$kind}}, $name unless $other;
        $api->{parts}{$kind}{$name} = $entry;
    }
    return;
}

# Names in short exist, and so do references.
sub check_names {
    my ($api, $path) = @_;
    my $line = 0;
    for my $text (split(/\n/, slurp($path))) {
        my $at = {path => $path, line => ++$line};
        my @named = map {[schemas => $_]} $text =~ /$SHORT/g;
        push @named, [$1, $2] while $text =~ m{'#/components/(\w+)/(\w+)'}g;
        for (@named) {
            my ($kind, $name) = @$_;
            my @known = @{$api->{names}{$kind} // []};
            fault($api, $at, RouteFile::unknown($kind =~ s/s$//r, $name, @known)) unless $api->{parts}{$kind}{$name};
        }
    }
    return;
}

# --- a row -------------------------------------------------------------------------------------------

sub roles_of {
    my ($api, $entry) = @_;
    return [] if $entry->{value} eq 'none';
    return [@ROLES] if $entry->{value} eq 'all';
    my %has = map {$_ => 1} known_words($api, $entry, 'role', @ROLES);
    fault($api, $entry, "which roles? As in 'roles: [frontend, user]', 'roles: all', or 'roles: none' for everybody") unless %has;
    return [grep {$has{$_}} @ROLES];
}

# Its parameters: {name, is_path, item} of its own, {name, is_path, shared} of the section `parameters`.
sub read_parameters {
    my ($api, $path, $entry) = @_;
    return [] unless $entry;
    my @found;
    for my $item (RouteFile::items($entry, $api->{faults})) {
        my ($name) = $item->{text} =~ /^\{?name: ([\w-]+)/;
        my $shared = $api->{parts}{parameters}{$item->{text}};
        if ($shared) {
            ($name) = join("\n", RouteFile::lines_at($shared, 0)) =~ /\bname: ([\w-]+)/;
        } elsif (not defined $name) {
            fault($api, $item, RouteFile::unknown('parameter', $item->{text}, @{$api->{names}{parameters}}) . " One of its own begins with 'name:'");
            next;
        }
        push @found, {name => $name, is_path => index($path, "{$name}") >= 0, $shared ? (shared => $item->{text}) : (item => $item)};
    }
    return \@found;
}

# What the row calls a response: for services whose problems have members of their own, the problem with those.
sub response_named {
    my ($api, $route, $at, $status, $name) = @_;
    my ($problems, $responses) = @{$api->{parts}}{qw(problems responses)};
    my $prefix = $route->{of}{problems} ? $route->{of}{problems}{value} : 'plain';
    my $own = "$prefix$name";
    my $problem = $problems->{$own} // $problems->{$name};
    if ($problems->{$own}) {
        $name = $own;
    } elsif ($problem and $prefix ne 'plain' and not $problem->{of}{schema}) {
        $api->{made}{$own} = [$problem, "${prefix}Problem"];
        $name = $own;
    }
    fault($api, $at, RouteFile::unknown('response', $name, @{$api->{names}{problems}}, @{$api->{names}{responses}})) unless $problem or $responses->{$name};
    fault($api, $at, "the codes of $name are of status $problem->{status}, not $status") if $problem and ($problem->{status} // $status) != $status;
    return {status => $status, name => $name};
}

sub responses_of {
    my ($api, $route) = @_;
    my $of = $route->{of};
    my %usual = (%PROBLEM_OF_ALL, @{$route->{roles}} || $of->{checks} ? %PROBLEM_OF_ACCOUNTS : ());
    delete $usual{403} unless @{$route->{roles}};
    $usual{422} = 'IdempotencyMismatch' if $route->{flags}{takes_key};
    $usual{426} = 'UpgradeRequired' if $of->{101};
    my @found;
    for my $status (sort keys %{{%usual, map {$_ => 1} grep {/^\d/} keys %$of}}) {
        my $own = $of->{$status};
        push @found, $own && $own->{value} =~ /^(?:\{|$)/ ? {status => $status, entry => $own}
            : response_named($api, $route, $own // $route->{row}, $status, $own ? $own->{value} : $usual{$status});
    }
    return \@found;
}

# In the order of the path.
sub parameters_of_path {
    my ($route) = @_;
    return map {my $name = $_; grep {$_->{name} eq $name} @{$route->{parameters}}} $route->{path} =~ /\{(\w+)\}/g;
}

sub described_path {
    my ($route) = @_;
    return join("\n", $route->{path}, map {$_->{shared} // RouteFile::lines_at($_->{item}, 0)} parameters_of_path($route));
}

sub read_row {
    my ($api, $row, $usual) = @_;
    my ($method, $path) = $row->{key} =~ m{^(GET|PUT|POST|DELETE) (/\S*)$}
        or return fault($api, $row, "'$row->{key}' is not as in 'GET /api/things/{id}', and no section: include, health, usual, " . join(', ', @SECTIONS));
    my $of = {%$usual, %{RouteFile::members($row, \@ROW, $api->{faults})}};
    my @missing = grep {not $of->{$_}} @NEEDED;
    return fault($api, $row, "it has no $_") for @missing;
    my $route = {row => $row, method => $method, path => $path, of => $of, roles => roles_of($api, $of->{roles})};
    $route->{flags} = {map {$_ => 1} known_words($api, $of->{flags}, 'flag', @FLAGS)};
    known_words($api, $of->{checks}, 'credential', @{$api->{names}{securitySchemes}});
    fault($api, $row, 'it has no response that says how it succeeds, such as 200') unless grep {/^(?:[12]\d\d|30[38])$/} keys %$of;
    my @methods = ($method, RouteFile::words($of->{also_methods}));
    my @paths = ($path, RouteFile::words($of->{also_paths}));
    $route->{spellings} = [map {my $one = $_; map {[$one, $_]} @paths} @methods];
    $route->{parameters} = read_parameters($api, $path, $of->{parameters});
    for my $name ($path =~ /\{(\w+)\}/g) {
        fault($api, $row, "{$name} is none of its parameters") unless grep {$_->{name} eq $name} @{$route->{parameters}};
    }
    return $route;
}

# --- the whole ---------------------------------------------------------------------------------------

# The functions of a service that are like a handler.
sub handlers_under {
    my ($folder) = @_;
    my %found;
    find({no_chdir => 1, wanted => sub {
        return unless /\.c$/;
        my $text = slurp($_);
        $found{$1} = 1 while $text =~ /^void (\w+)\(struct request \*\w+\)\n\{/mg;
    }}, $folder);
    return \%found;
}

sub check_routes {
    my ($api) = @_;
    my (%seen, %ids, %shapes);
    my $once = sub {
        my ($of, $what, $at) = @_;
        fault($api, $at, "$what is in $of->{$what}{path}:$of->{$what}{line} already") if $of->{$what};
        $of->{$what} //= $at;
    };
    for my $table (@{$api->{tables}}) {
        my $handlers = handlers_under("services/$table->{name}");
        for my $route (@{$table->{routes}}) {
            my ($at, $handler) = ($route->{row}, $route->{of}{handler});
            fault($api, $handler, RouteFile::unknown('function', $handler->{value}, sort keys %$handlers)
                . " Write 'void $handler->{value}(struct request *r)' below services/$table->{name}") unless $handlers->{$handler->{value}};
            $once->(\%seen, join(' ', @$_), $at) for @{$route->{spellings}};
            $once->(\%ids, "operationId $route->{of}{operationId}{value}", $at);
            my $other = $shapes{$route->{path} =~ s/\{\w+\}/{}/gr} //= $route;
            fault($api, $at, "its path is that of $other->{row}{path}:$other->{row}{line}, whose parameters in braces differ")
                if described_path($other) ne described_path($route);
        }
    }
    return;
}

sub check_tags {
    my ($api) = @_;
    my @known = $api->{head} =~ /^  - name: (\w+)$/mg;
    for my $table (@{$api->{tables}}) {
        known_words($api, $_->{of}{tag}, 'tag', @known) for @{$table->{routes}};
    }
    return;
}

# A file of routes: its sections now; its rows later, when all sections are known.
sub read_file {
    my ($api, $path, $table) = @_;
    my @rows;
    for my $entry (@{RouteFile::read($path, $api->{faults})}) {
        my $key = $entry->{key};
        if (grep {$_ eq $key} @SECTIONS) {
            read_section($api, $entry);
        } elsif ($key =~ /^(?:include|health)$/) {
            $table->{$key} = [RouteFile::words($entry)];
        } elsif ($key eq 'usual') {
            $table->{usual} = RouteFile::members($entry, \@USUAL, $api->{faults});
        } else {
            push @rows, $entry;
        }
    }
    return @rows;
}

# In the order of services/node/table.c; the node's own routes come last.
sub services {
    my ($api) = @_;
    my @known = (slurp('services/node/table.c') =~ /^\s+ROW\((\w+)\)/mg, 'node');
    for my $path (glob('services/*/routes.yaml')) {
        my ($name) = $path =~ m{^services/(\w+)/};
        fault($api, {path => $path, line => 1}, "services/node/table.c has no ROW($name)") unless grep {$_ eq $name} @known;
    }
    return grep {-e "services/$_/routes.yaml"} @known;
}

sub read {
    my $api = {faults => [], tables => [], made => {}, parts => {map {$_ => {}} @SECTIONS}, names => {map {$_ => []} @SECTIONS}};
    my %status_of = reverse slurp('shared/base/err.h') =~ /^\s+X\(\w+,\s*(\d+),\s*"(\w+)",/mg;
    my @named = grep {$_ ne HEAD} glob('services/web/openapi/*.yaml services/*/schemas.yaml');
    $api->{head} = slurp(HEAD);
    for my $path (@named) {
        fault($api, $_, "rows are in routes.yaml; here are sections: @SECTIONS") for read_file($api, $path, {});
    }
    my %rows;
    for my $name (services($api)) {
        my $table = {name => $name, path => "services/$name/routes.yaml", include => [], health => [], usual => {}};
        $rows{$name} = [read_file($api, $table->{path}, $table)];
        push @{$api->{tables}}, $table;
    }
    read_problem($api, $_, \%status_of) for @{$api->{parts}{problems}}{@{$api->{names}{problems}}};
    for my $table (@{$api->{tables}}) {
        $table->{routes} = [grep {$_} map {read_row($api, $_, $table->{usual})} @{$rows{$table->{name}}}];
        $_->{responses} = responses_of($api, $_) for @{$table->{routes}};
    }
    check_routes($api);
    check_tags($api);
    check_names($api, $_) for @named, map {$_->{path}} @{$api->{tables}};
    return $api;
}

1;
