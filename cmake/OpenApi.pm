# SPDX-License-Identifier: MIT
#
# OpenApi: the description of all routes (Routes.pm) that nodes serve as /openapi.yaml (OpenAPI 3.1). Rows hold what is particular;
# what follows from it is put in here: credentials, the headers of every request and answer, and the problems that any route has.
package OpenApi;
use strict;
use warnings;
use CText qw(slurp);
use RouteFile;
use Routes;

my @RESPONSE = (qw(description headers json html events example content), qr/x-[a-z-]+/);

sub ref_to {
    my ($kind, $name) = @_;
    return "{\$ref: '#/components/$kind/$name'}";
}

# X-Request-Id is RequestId, WWW-Authenticate WwwAuthenticate.
sub header_component {
    my ($name) = @_;
    return join('', map {/^[A-Z]{3,}$/ ? ucfirst(lc) : $_} split(/-/, $name =~ s/^X-//r));
}

# --- responses ---------------------------------------------------------------------------------------

sub header_lines {
    my ($indent, @names) = @_;
    my $pad = ' ' x $indent;
    return ("${pad}headers:", map {"$pad  $_: " . ref_to('headers', header_component($_))} 'X-Request-Id', @names);
}

# What it has for a media type: each one the lines below it.
sub media_of {
    my ($of, $indent) = @_;
    my $pad = ' ' x $indent;
    my @found;
    push @found, ['application/json', RouteFile::lines_at({%{$of->{json}}, key => 'schema'}, $indent), $of->{example} ? RouteFile::lines_at($of->{example}, $indent) : ()]
        if $of->{json};
    push @found, ['text/event-stream', "${pad}schema: \$EventStream", RouteFile::lines_at({%{$of->{events}}, key => 'x-events'}, $indent)] if $of->{events};
    push @found, ['text/html', "${pad}schema: {type: string}"] if $of->{html};
    return @found;
}

# A response of a row or of a section.
sub response_lines {
    my ($api, $entry, $indent) = @_;
    my $pad = ' ' x $indent;
    my $of = RouteFile::members($entry, \@RESPONSE, $api->{faults});
    my @headers = Routes::known_words($api, $of->{headers}, 'header', @{$api->{names}{headers}});
    Routes::fault($api, $entry, 'a response has a description') unless $of->{description};
    my @lines = ($of->{description} ? RouteFile::lines_at($of->{description}, $indent) : (), header_lines($indent, @headers));
    my ($first, @others) = media_of($of, $indent + 4);
    push @lines, "${pad}content:", map {ref ? ("$pad  $_->[0]:", @$_[1 .. $#$_]) : ()} $first if $first;
    push @lines, "${pad}x-alternatives:", map {("$pad  $_->[0]:", @$_[1 .. $#$_])} @others if @others;
    push @lines, map {RouteFile::lines_at($of->{$_}, $indent)} grep {/^(?:content|x-.*)$/} sort keys %$of;
    return @lines;
}

# The media type of a problem whose schema is not that of a problem document; its codes are then beside the schema.
sub media_type_of {
    my ($api, $schema) = @_;
    my $entry = $api->{parts}{schemas}{$schema} or return undef;
    my ($type) = join("\n", RouteFile::lines_at($entry, 0)) =~ /^ +x-media-type: (\S+)$/m;
    return $type;
}

sub problem_lines {
    my ($api, $name, $problem, $schema) = @_;
    my $of = $problem->{of};
    $schema //= $of->{schema} ? $of->{schema}{value} : 'Problem';
    my $media_type = media_type_of($api, $schema);
    my $codes = '[' . join(', ', RouteFile::words($of->{codes})) . ']';
    my @headers = Routes::known_words($api, $of->{headers}, 'header', @{$api->{names}{headers}});
    unshift @headers, 'Retry-After' if $problem->{status} =~ /^(?:429|503)$/;
    return (
        "    $name:", RouteFile::lines_at($of->{description}, 6), header_lines(6, @headers),
        "      x-codes: $codes", '      content:', "        $media_type:", '          schema: ' . ref_to('schemas', $schema)) if $media_type;
    return (
        "    $name:", RouteFile::lines_at($of->{description}, 6), header_lines(6, @headers),
        '      content:', '        application/problem+json:', '          schema:', '            allOf:',
        '              - ' . ref_to('schemas', $schema), "              - {type: object, properties: {code: {enum: $codes}}}",
        $of->{html} ? ('      x-alternatives:', '        text/html:', '          schema: {type: string}') : ());
}

# --- operations --------------------------------------------------------------------------------------

# The credentials that a route takes; `{}` is none of them.
sub security_lines {
    my ($route) = @_;
    my ($flags, @ways) = ($route->{flags});
    my $roles = '[' . join(', ', @{$route->{roles}}) . ']';
    push @ways, '{}' if $route->{of}{is_open} and not $route->{of}{checks};
    push @ways, "{signedUser: $roles, signedNonce: $roles, signedHash: $roles}", "{bearer: $roles}" if @{$route->{roles}};
    push @ways, "{tokenParameter: $roles}" if $flags->{takes_token_param};
    push @ways, "{apiKey: $roles}" if $flags->{takes_api_key};
    push @ways, "{basic: $roles}" if $flags->{takes_basic};
    push @ways, map {"{$_: []}"} RouteFile::words($route->{of}{checks});
    return @ways ? ('      security:', map {"        - $_"} @ways) : '      security: []';
}

# Of its own ones, a parameter is one of the path that is named there, otherwise of the query.
sub parameter_lines {
    my ($one, $indent) = @_;
    return ' ' x $indent . '- ' . ref_to('parameters', $one->{shared}) if $one->{shared};
    my $item = $one->{item};
    my @lines = RouteFile::lines_at($item, $indent);
    return @lines if grep {/^ *in: |, in: /} @lines;
    my @more = $one->{is_path} ? ('in: path', 'required: true') : ('in: query');
    return ($lines[0] =~ s/(- \{name: [\w-]+)/join(', ', $1, @more)/er, @lines[1 .. $#lines]) if $item->{text} =~ /^\{/;
    return ($lines[0], (map {' ' x ($indent + 2) . $_} @more), @lines[1 .. $#lines]);
}

sub body_lines {
    my ($of) = @_;
    return () unless $of->{body} or $of->{content};
    return ('      requestBody:', '        required: true', $of->{content} ? RouteFile::lines_at($of->{content}, 8)
        : ('        content:', '          application/json:', RouteFile::lines_at({%{$of->{body}}, key => 'schema'}, 12)));
}

sub operation_lines {
    my ($api, $route) = @_;
    my $of = $route->{of};
    my @parameters = grep {not $_->{is_path}} @{$route->{parameters}};
    unshift @parameters, {shared => 'IdempotencyKey'} if $route->{flags}{takes_key};
    return (
        '    ' . lc($route->{method}) . ':', RouteFile::lines_at($of->{operationId}, 6), "      tags: [$of->{tag}{value}]",
        $of->{also_methods} ? "      x-also-methods: $of->{also_methods}{value}" : (),
        (map {RouteFile::lines_at($of->{$_}, 6)} grep {$of->{$_}} qw(summary description)),
        security_lines($route),
        @parameters ? ('      parameters:', map {parameter_lines($_, 8)} @parameters) : (),
        body_lines($of),
        '      responses:',
        map {$_->{entry} ? ("        '$_->{status}':", response_lines($api, $_->{entry}, 10)) : "        '$_->{status}': " . ref_to('responses', $_->{name})}
            @{$route->{responses}});
}

# In YAML a text with braces needs quotes there.
sub also_paths_line {
    my ($entry) = @_;
    return '    x-also-paths: [' . join(', ', map {/[{}]/ ? "'$_'" : $_} RouteFile::words($entry)) . ']';
}

# Several rows may have one path.
sub path_lines {
    my ($api, @routes) = @_;
    my ($first) = @routes;
    return (
        "  $first->{path}:",
        $first->{of}{also_paths} ? also_paths_line($first->{of}{also_paths}) : (),
        '    parameters:', (map {'      - ' . ref_to('parameters', $_)} qw(RequestId Traceparent)),
        (map {parameter_lines($_, 6)} Routes::parameters_of_path($first)),
        (map {operation_lines($api, $_)} @routes), '');
}

# --- the whole ---------------------------------------------------------------------------------------

sub component_lines {
    my ($api, $kind) = @_;
    my ($parts, $names) = ($api->{parts}{$kind}, $api->{names}{$kind});
    return map {("    $_:", response_lines($api, $parts->{$_}, 6))} @$names if $kind eq 'responses';
    return map {problem_lines($api, $_, $parts->{$_})} @$names if $kind eq 'problems';
    return map {RouteFile::lines_at({%{$parts->{$_}}, key => header_component($_)}, 4)} @$names if $kind eq 'headers';
    return map {RouteFile::lines_at($parts->{$_}, 4)} @$names;
}

# The parts of /health, where its schema has `$health:`.
sub put_health {
    my ($api, $line) = @_;
    my ($spaces) = $line =~ /^( +)\$health:/ or return $line;
    return map {"$spaces$_: " . ref_to('schemas', 'Dependency')} map {@{$_->{health}}} @{$api->{tables}};
}

sub text {
    my ($api) = @_;
    my ($version) = slurp('CMakeLists.txt') =~ /^project\(parley VERSION (\S+)/m;
    my (%routes_of, @paths);
    for my $route (map {@{$_->{routes}}} @{$api->{tables}}) {
        push @paths, $route->{path} unless $routes_of{$route->{path}};
        push @{$routes_of{$route->{path}}}, $route;
    }
    my @lines = ('paths:', (map {path_lines($api, @{$routes_of{$_}})} @paths), 'components:');
    for my $kind (@Routes::SECTIONS) {
        push @lines, $kind eq 'problems' ? () : "  $kind:", component_lines($api, $kind);
        push @lines, map {problem_lines($api, $_, @{$api->{made}{$_}})} sort keys %{$api->{made}} if $kind eq 'problems';
        push @lines, '' unless $kind eq 'responses' or $kind eq 'schemas';
    }
    s/$Routes::SHORT/ref_to('schemas', $1)/ge for @lines;
    return join('', $api->{head} =~ s/^(  version:) .*$/$1 $version/mr, map {"$_\n"} map {put_health($api, $_)} @lines);
}

1;
