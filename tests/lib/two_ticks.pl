#!/usr/bin/perl
# two_ticks.pl FOLDER - says that it acts, five times a second: its incarnation, its pid, a number that rises, seconds of a clock that all share
use strict;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
open my $to, ">>", "$ARGV[0]/$ENV{EDL_INDEX}" or die "$ARGV[0]: $!";
$to->autoflush(1);
for (my $n = 1;; $n++) {
    printf $to "%d %d %d %.6f\n", $ENV{EDL_INCARNATION}, $$, $n, clock_gettime(CLOCK_MONOTONIC);
    select undef, undef, undef, 0.2;
}
