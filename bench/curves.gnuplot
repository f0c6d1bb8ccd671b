# The picture of bench/curves: the three curves by themselves, and who had how many instances when. `data`: the folder of the
# CSV files; `out`: the picture.
set terminal svg size 860,760 font "sans-serif,13" background "#ffffff"
set output out
set datafile separator ","
set border 3
set tics nomirror out
set grid ytics lc rgb "#dddddd"
set lmargin 9
set rmargin 4
jobs = "linear saturating contended"
array colour[3] = ["#1f6fb2", "#c8553d", "#4b8b3b"]
stats data."/jobs.csv" every ::1 using 4 nooutput
longest = STATS_max

set multiplot layout 3,1 title "Three elastic jobs on 24 slots, real processes (round 1)"
set key top left
set xrange [0:17]
set yrange [0:*]
set xlabel "instances, fixed"
set ylabel "tasks/s by itself"
plot for [i=1:3] "< awk -F, '$1 == \"".word(jobs, i)."\"' ".data."/curves.csv" using 2:3 with linespoints lw 2 pt 7 ps 0.5 lc rgb colour[i] title word(jobs, i)
set xrange [0:longest]
set yrange [0:17]
unset key
set xlabel "seconds after the submission"
do for [policy in "fulfilment goodput"] {
    set ylabel policy.": instances"
    plot for [i=1:3] "< awk -F, '$1 == \"".policy."\" && $2 == 1 && $3 == \"".word(jobs, i)."\"' ".data."/instances.csv" using 4:5 with steps lw 2 lc rgb colour[i]
}
unset multiplot
