# SPDX-License-Identifier: MIT
# Bytes as string literals of C, for the scripts that embed files into the program.
package CText;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(slurp c_text);

# The bytes of a file.
sub slurp {
    my ($path) = @_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

# One literal per line of the bytes; the compiler joins them.
sub c_text {
    my ($bytes) = @_;
    my $c = '';
    for my $line (split(/(?<=\n)/, $bytes)) {
        $line =~ s/([\\"?])/\\$1/g;
        $line =~ s/\n/\\n/;
        $line =~ s/([^\x20-\x7e])/sprintf('\\%03o', ord($1))/ge;
        $c .= "\n    \"$line\"";
    }
    return $c;
}

1;
