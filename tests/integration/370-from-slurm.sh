#!/usr/bin/env bash
# docs/from-slurm.md: each of its blocks is typed in one folder beside a cluster, and says what the page shows. Then what the commands
# of Slurm refuse, and what they say of a job with a name in another writing.
# Takes 6 s: a dozen jobs, one after another
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"

machines=$work
folder=$work/folder
mkdir "$folder" "$work/words"
while read -r from to; do # as the package has them
    case $to in usr/bin/*) ln -s "$EDL_BUILD_DIR/${from##*/}" "$work/words/${to##*/}" ;; esac
done <"$EDL_SOURCE_DIR/packaging/debian/edl-slurm-words.links"
cluster_start --nodes 2 --cpu 4 --memory 8Gi
PATH=$work/words:$PATH # what is typed without them is typed with them, too
type_in() { # MACHINE FILE
    (cd "$folder" && timeout 120 bash -e "$2")
}
blocks docs/from-slurm.md
run_blocks

cd "$folder"
refused() { # STATUS TEXT COMMAND...
    local status=$1 text=$2
    shift 2
    local got=0
    "$@" >"$work/said" 2>&1 || got=$?
    [ "$got" = "$status" ] || fail "$* ended with $got: $(cat "$work/said")"
    grep -qF -e "$text" "$work/said" || fail "$* does not say \"$text\": $(cat "$work/said")"
}
refused 1 'try: --selector' sbatch --partition=x train.sh
refused 2 'FAIL tells when' sbatch --mail-type=TIME_LIMIT_90 train.sh
refused 1 'the command is missing' srun
refused 1 'a shell has one instance' salloc -n 2
refused 1 'takes no --array=1-2' salloc -a 1-2
refused 1 'no %q' squeue -o '%q'
refused 1 'there is no field Foo' sacct --format=Foo
refused 1 'is no time' sacct -S yesterday
refused 1 'edl scale JOB' scontrol hold 1
refused 1 'which job?' scancel
refused 1 'edl-slurm squeue' edl-slurm squeeu
refused 4 '' srun sh -c 'exit 4'

# a name in another writing, from standard input, with its output in a file and quotes in the name of that
job=$(printf '%s\n' '#!/bin/bash' '#SBATCH --job-name="Мой job №7"' "#SBATCH -o 'out \"%j\$(x).txt'" 'echo there' | sbatch --parsable --wait)
name=$(edl ps --all --format id,name --no-header | awk -v id="$job" '$1 == id { print $2 }')
case $name in job-7-?????) ;; *) fail "the job is called $name" ;; esac
[ "$(cat "out \"$job\$(x).txt")" = there ] || fail "its output is not there: $(ls)"
silent edl logs "$job" || fail 'its output is in the log as well'
# a job of that name is found by the beginning that the script gave it
job=$(printf '#!/bin/sh\n#SBATCH -J found\nsleep 300\n' | sbatch --parsable)
[ "$(squeue -h -n found -o %i)" = "$job" ] || fail 'squeue does not find it by its name'
scancel -n found
edl wait "$job" >/dev/null || true
[ "$(sacct -n -P -j "$job" -o State)" = CANCELLED ] || fail 'it was not cancelled'
# a filter narrows the jobs that are named, and names the caller's own where none is
job=$(sbatch --parsable -J other --wrap 'sleep 300')
job2=$(sbatch --parsable -J narrow --wrap 'sleep 300')
both_run() { [ "$(squeue -h -t R -j "$job,$job2" -o %i | wc -l)" = 2 ]; }
await 120 'both run' both_run
scancel -t PENDING "$job"
scancel -n narrow "$job"
scancel -n other -u nobody-here
both_run || fail "a job was cancelled that the filter leaves out: $(sacct -n -P -j "$job,$job2" -o JobID,State)"
scancel -t RUNNING "$job"
edl wait "$job" >/dev/null || true
[ "$(squeue -h -o %i)" = "$job2" ] || fail "scancel -t RUNNING $job leaves $(squeue -h)"
edl user add ann >/dev/null
(umask 077 && edl token create --user ann >"$work/ann.token" 2>/dev/null)
EDL_TOKEN_FILE=$work/ann.token scancel -t RUNNING || fail 'without a name it reaches for the jobs of others'
[ "$(squeue -h -o %i)" = "$job2" ] || fail 'a job of somebody else was cancelled'
scancel "$job2"
edl wait "$job2" >/dev/null || true

# of an array so many run at once; the number that sbatch prints stands for all of its jobs
first=$(printf '#!/bin/sh\n#SBATCH -J few -a 1-4%%2\nsleep 300\n' | sbatch --parsable)
after=$(sbatch --parsable --dependency="afterany:$first" --wrap 'echo after')
third=$((first + 2))
third_waits() { [ "$(squeue -h -j "$third" -o %r)" = JobArrayTaskLimit ]; }
fourth_runs() { [ "$(squeue -h -j "$((first + 3))" -o %T)" = RUNNING ]; }
third_runs() { [ "$(squeue -h -j "$third" -o %T)" = RUNNING ]; }
await 120 'the third waits for a place' third_waits
[ "$(squeue -h -j "$first" -o %i | paste -sd' ')" = "$first $((first + 1)) $third $((first + 3))" ] || fail "squeue of the array: $(squeue -h -j "$first")"
scancel "${first}_1"
await 120 'the third runs' third_runs
few=$(edl show "$first" --json | jq -r .job.spec.array.name)
edl scale "$few%3" >"$work/told"
await 120 'the fourth runs' fourth_runs
grep -q 'jobs of its array at once 3' "$work/told" || fail "another bound: $(cat "$work/told")"
status=0; edl scale "$few%many" 2>"$work/err" || status=$?
[ "$status" = 2 ] && grep -q 'edl scale sweep%4' "$work/err" || fail "a bound that is no number: $status $(cat "$work/err")"
[ "$(squeue -h -j "$after" -o %r)" = Dependency ] || fail 'what waits for the array began after its first job'
scancel "$first"
edl wait "$after" >/dev/null || fail 'what waited for any end failed'
[ "$(sacct -n -P -j "$first" -o State | uniq -c | xargs)" = '4 CANCELLED' ] || fail "sacct of the array: $(sacct -n -P -j "$first")"
first=$(sbatch --parsable --wait -a 1-3 --wrap 'echo "$EDL_ARRAY_INDEX"')
[ "$(sacct -n -P -j "$first" -o State | uniq -c | xargs)" = '3 COMPLETED' ] || fail "sbatch --wait ended before its array: $(sacct -n -P -j "$first")"
# an unfinished line gets an end before another rank's output, and what edl says of a line is no output
srun -n 2 printf 'no end' >"$work/out"
printf 'no end\nno end' | cmp - "$work/out" || fail "two ranks without line ends: $(cat "$work/out")"
srun sh -c 'head -c 1500000 /dev/zero | tr "\0" x' >"$work/out" 2>"$work/said"
[ "$(tr -d x <"$work/out" | wc -c)" = 0 ] && [ "$(wc -c <"$work/out")" = 1500000 ] || fail "a long line has $(wc -c <"$work/out") bytes, and $(tr -d x <"$work/out")"
grep -qF 'is longer than 1 MiB' "$work/said" || fail "of a long line it says $(cat "$work/said")"
# in a job srun is the command
[ "$(srun --export=PATH srun echo inside)" = inside ] || fail 'srun in a job does not run the command'
cluster_stop
