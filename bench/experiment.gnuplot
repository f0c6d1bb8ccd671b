# The pictures of docs/benchmarks.md, from the time series in the folder `data` (bench/experiment).
set terminal svg size 860,620 font "sans-serif,13" background "#ffffff"
set datafile separator "\t"
set key autotitle columnhead
set border 3
set tics nomirror out
set grid ytics lc rgb "#dddddd"
set lmargin 9
set rmargin 4
elastic = "#1f6fb2"; fixed = "#c8553d"; others = "#9aa5ad"; line = "#444444"
cores = 2348.0

set output "docs/experiment-case1.svg"
set multiplot layout 2,1 title "Case 1: 20 jobs, one each 10 s, on 133 machines (simulated)"
set xrange [0:550]
set yrange [0:105]
set ylabel "CPU in use, %"
set key bottom right
set arrow 1 from 250,0 to 250,105 nohead dt 3 lc rgb line
set arrow 2 from 450,0 to 450,105 nohead dt 3 lc rgb line
set label 1 "plateau" at 350,50 center tc rgb line
plot data."/case1-fixed.tsv" every 10 using ($1-10):(100*$2) with lines lw 2 lc rgb fixed title "60 trainers fixed", \
     data."/case1.tsv" every 10 using ($1-10):(100*$2) with lines lw 2 lc rgb elastic title "2 to 60 trainers"
unset arrow; unset label
set yrange [0:62]
set xlabel "seconds after the first submission"
set ylabel "running trainers of each job"
unset key
unset colorbox
set cbrange [0:1]
plot for [i=12:31] data."/case1.tsv" every 20 using ($1-10):(column(i)) with lines lw 1.5 lc palette frac (i-12)/19.0 notitle
unset multiplot

set output "docs/experiment-case2.svg"
set multiplot layout 2,1 title "Case 2: 6 jobs beside a web service of 400 to 100 replicas (simulated)"
unset xlabel
set key outside top center horizontal maxrows 2 maxcols 2
set xrange [0:660]
set yrange [0:2500]
set ylabel "cores"
plot data."/case2.tsv" every 10 using ($1-10):($3+$4) with filledcurves y1=0 lc rgb elastic title "2 to 60 trainers", \
     data."/case2.tsv" every 10 using ($1-10):4 with filledcurves y1=0 lc rgb others title "web service", \
     data."/case2-fixed.tsv" every 10 using ($1-10):($3+$4) with lines lw 2 lc rgb fixed title "15 trainers fixed, with the service", \
     cores with lines dt 3 lc rgb line title "all cores"
set yrange [0:*]
set xlabel "seconds after the submission of the jobs"
set ylabel "cores the service lacks"
unset key
plot data."/case2.tsv" every 10 using ($1-10):5 with lines lw 2 lc rgb elastic notitle
unset multiplot
