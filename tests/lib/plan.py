#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan.py - what ./check runs: for a landing, in a hurry (--quick), at night (--night)

./check calls it with the packages there; it is where to look for what runs when. tests/areas says what belongs to which part of the
tree, tests/heavy which unit tests run plain with fewer seeds, and each script says of itself how it wants to run (tests/README.md).
"""
import argparse
import datetime
import fcntl
import fnmatch
import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import budget  # noqa: E402
import costs  # noqa: E402
import steps  # noqa: E402
import tests_here as here  # noqa: E402
from steps import COMPUTES, CORES, Step  # noqa: E402

MORE = ('tests/lib/libnvidia-ml.so.1', 'tests/lib/libedl-kernels-cuda.so', 'tests/lib/file_log.so', 'tests/lib/held_files.so', 'tests/lib/slow_files.so', 'tests/lib/distill_run')  # what scripts preload or start
FIRST = ('all', 'generated')
HISTORIES = 'tests/sim/100-faults.sh'
PLAIN = 'plain-'  # how the step of a unit test of the plain build begins
# compiles in three quarters of the time of -g -O1; ASan guards the stack by itself, and two warnings guess without the optimiser
SANITIZED_CFLAGS = '-g1 -Og -fno-stack-protector -Wno-maybe-uninitialized -Wno-format-truncation'
# A landing always has the same seed, so that only its change can fail it; each night has another one.
SEED = '20261127'
# So few tests of a landing run once more when they fail: a change that breaks something breaks them twice. The night counts each failure.
UNSTEADY_MOST = 3
# of scripts, by name: what the night asks of them, where their own numbers are those of each check
NIGHT = {'010-units': {'EDL_WAVE': '240'}, '020-torture': {'EDL_KILLS': '40'}, '100-faults': {'EDL_SEEDS': '20000'}, '305-python': {'EDL_KILLS': '200'}, '160-flood': {'EDL_FLOOD_ROUNDS': '10'}, '161-datasets': {'EDL_DATASET_JOBS': '18'},
         '167-siege': {'EDL_SIEGE_S': '60'}, '271-power': {'EDL_POWER_STRIDE': '1'}}


def areas():
    """Area -> (paths, unit lists and fuzz targets, patterns of scripts)"""
    return {row[0]: [[] if cell == '-' else cell.split() for cell in row[1:]] for row in here.table('tests/areas')}


def short(path):
    return os.path.basename(path)[:-len('.sh')]


class Change:
    """Which files differ from what the branch began with, committed or not."""

    def __init__(self):
        self.base = next((b for b in map(self.merge_base, ('origin/HEAD', 'origin/main', 'main', '@{upstream}')) if b), '')
        if not self.base or not self.changed():
            self.base = self.git('rev-parse', '-q', '--verify', 'HEAD^') or self.base
        self.paths = self.changed()

    @staticmethod
    def git(*arguments):
        try:
            done = subprocess.run(['git', '-C', here.SOURCE_DIR, '-c', 'core.quotePath=false', *arguments], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False)
        except OSError:
            return ''
        return done.stdout.strip() if done.returncode == 0 else ''

    def merge_base(self, other):
        return self.git('merge-base', 'HEAD', other)

    def changed(self):
        names = self.git('diff', '--name-only', self.base or 'HEAD').splitlines()
        return sorted(set(names + self.git('ls-files', '--others', '--exclude-standard').splitlines()))


def area_of(path):
    """By the longest path of tests/areas that fits, or ''."""
    fits = [(len(prefix), name) for name, (paths, _, _) in areas().items() for prefix in paths if path.startswith(prefix)]
    return max(fits)[1] if fits else ''


def changed_tests(paths):
    """Unit tests, fuzz targets and scripts among the changed files, and the unit tests that include what changed beside them."""
    found = set()
    for path in paths:
        name = os.path.basename(path)
        if re.fullmatch(r'tests/unit/test_\w+\.c', path):
            found.add(name[:-2])
        elif re.fullmatch(r'tests/unit/\w+\.[ch]', path):
            source = name.rsplit('.', 1)[0]
            found |= {t for tests in here.unit_lists().values() for t in tests if f'"{source}.h"' in unit_source(t) or f'/{source}.h"' in unit_source(t)}
        elif path.startswith('tests/fuzz/corpus/'):
            found.add('replay_' + path.split('/')[3])
        elif re.fullmatch(r'tests/fuzz/fuzz_\w+\.c', path):
            found.add('replay_' + name[len('fuzz_'):-2])
        elif path.startswith('tests/wire/'):
            found.add('261-mixed-versions')
        elif path in here.scripts():
            found.add(short(path))
    return found


def unit_source(test):
    path = f'tests/unit/{test}.c'
    return here.read(path) if os.path.exists(os.path.join(here.SOURCE_DIR, path)) else ''


class Plan:
    """Steps of one call; what they took last time (tests/costs) says in which order they begin."""

    def __init__(self, build_dir):
        self.build_dir = build_dir
        self.sanitized, self.plain = f'{build_dir}/sanitized', f'{build_dir}/plain'
        self.steps = []
        self.configured = set()  # steps that there is no need of
        self.heavy = {row[0]: row[1:] for row in here.table('tests/heavy')}

    def add(self, *new):
        self.steps += new

    # builds

    def configure(self, again):
        """autoreconf and configure, both builds; only what is missing unless again."""
        source = here.SOURCE_DIR
        needs = ()
        if again or not os.path.exists(f'{source}/configure'):
            self.add(Step('autoreconf', ['autoreconf', '-fi'], COMPUTES, CORES, folder=source))
            needs = ('autoreconf',)
        linker = ['LDFLAGS=' + os.environ['EDL_CHECK_LDFLAGS']] if os.environ.get('EDL_CHECK_LDFLAGS') else []
        self.configure_one('plain', [*package_flags(), *linker], again, needs)
        self.configure_one('sanitized', ['--like', '../plain', '--enable-sanitizers', f'CFLAGS={SANITIZED_CFLAGS}', 'CPPFLAGS=', *linker], again, (*needs, 'configure-plain'))

    def configure_one(self, build, options, again, needs):
        folder = f'{self.build_dir}/{build}'
        os.makedirs(folder, exist_ok=True)
        command = [f'{here.SOURCE_DIR}/tests/lib/configure-build', here.SOURCE_DIR, *options, '--enable-werror']
        if os.path.exists(f'{folder}/Makefile') and not again and 'autoreconf' not in needs:
            self.configured.add(f'configure-{build}')
            return
        needs = tuple(name for name in needs if name not in self.configured)
        self.add(Step(f'configure-{build}', command, COMPUTES, folder=folder, needs=needs, limit_s=here.LIMIT_S))

    def make(self, name, build, targets, needs, nice=here.NICE):
        needs = tuple(name for name in needs if name not in self.configured)
        # these are a make of their own: beside "all", another target would compile the same files once more, and what is generated comes first
        make = f'make -C {shlex.quote(self.build_dir)}/{build} -j{CORES}'
        first = ' '.join(target for target in targets if target in FIRST)
        rest = ' '.join(target for target in targets if target not in FIRST)
        command = ' && '.join(f'{make} {these}' for these in (first, rest) if these)
        self.add(Step(name, ['sh', '-c', command], COMPUTES, CORES, needs=needs, limit_s=here.LIMIT_S, nice=nice))

    def build(self, runs, fuzz, scripts):
        """What these tests need. The plain build comes first: scripts wait for it, and for each other."""
        plain_tests = programs_of(name for name, prefix, _ in runs if prefix == PLAIN)
        self.make('build-plain', 'plain', ['all', *MORE] if scripts or plain_tests else ['generated'], ('configure-plain',), nice=0)
        if any(self.wants_packages(path) for path in scripts):
            self.add(Step('packages', [f'{here.SOURCE_DIR}/tests/lib/packages-built'], COMPUTES, CORES, needs=('build-plain',),
                          environment={'EDL_BUILD_DIR': self.plain}, limit_s=here.LIMIT_S))
        if plain_tests:
            self.make('build-plain-tests', 'plain', plain_tests, ('build-plain',))
        conditional, units = here.conditional_tests(), {name for name, prefix, _ in runs if prefix != PLAIN}
        tests = programs_of(units - conditional) + [f'tests/fuzz/{name}' for name in fuzz]
        tests += ['build-conditional-tests'] if conditional & units else []
        tests += ['edl'] if HISTORIES in scripts else []
        tests += sorted({f'tests/unit/{name}' for path in scripts for name in self.unit_programs_of(path)} - set(tests))
        if tests:
            self.make('build-sanitized', 'sanitized', ['generated', *tests], ('configure-sanitized',))

    @staticmethod
    def wants_packages(path):
        return 'tests/lib/packages.sh' in here.read(path)

    @staticmethod
    def unit_programs_of(path):
        """Programs of unit tests that a script runs once more, in other surroundings: those under sanitizers, which are there."""
        return set(re.findall(r'tests/unit/(list_[a-z]+)', here.read(path)))

    # tests

    def unit_runs(self, units, night=False, samples=True):
        """(name, prefix of the step, environment) of each run of these unit tests: PLAIN, or under sanitizers."""
        for name in units:
            sample, check, full = self.heavy.get(name, ('', '', ''))
            if name not in self.heavy or night:
                yield name, '', full if night else ''
                continue
            yield name, PLAIN, check
            if sample != '-' and samples:
                yield name, 'sample-', sample

    def unit_tests(self, runs):
        for name, prefix, environment in runs:
            build_dir, needs = (self.plain, 'build-plain-tests') if prefix == PLAIN else (self.sanitized, 'build-sanitized')
            self.add(here.unit_step(name, build_dir, prefix, needs=(needs,), environment=variables(environment)))

    def fuzz(self, fuzz):
        self.add(*(here.fuzz_step(name, self.sanitized, needs=('build-sanitized',)) for name in fuzz))

    def scripts(self, scripts, night=False):
        for path in scripts:
            name = short(path)
            needs = ('build-plain',)
            more = {}
            if path.startswith('tests/cluster/'):
                more['after'] = ('machine-roots',)
            if self.wants_packages(path):
                needs += ('packages',)
            if path.startswith('tests/sim/'):
                more['lane'] = COMPUTES
            environment = NIGHT.get(name, {}) if night else {}
            build = self.plain
            if self.unit_programs_of(path):
                build, needs = self.sanitized, ('build-sanitized',)
            self.add(here.script_step(path, build, needs=needs, environment=environment, **more))
            if path == HISTORIES:
                self.add(here.script_step(path, self.sanitized, 'sanitized-' + os.path.basename(path), lane=COMPUTES,
                                          needs=('build-sanitized',), environment={**environment, 'EDL_SEEDS': '2000' if night else '48'}))

    def roots(self, scripts):
        """What machines are made of comes over the network while the compilers run; where that fails each test says why by itself."""
        if any(path.startswith('tests/cluster/') for path in scripts):
            self.add(Step('machine-roots', [f'{here.SOURCE_DIR}/tests/lib/machine-roots'], limit_s=here.LIMIT_S))

    def lint(self, base=''):
        """base: a commit that lint has passed, of which nothing is read again; without one all is."""
        self.add(Step('lint', [f'{here.SOURCE_DIR}/tests/lint/lint', self.plain, base], COMPUTES, needs=('build-plain',), folder=here.SOURCE_DIR,
                      limit_s=here.LIMIT_S, nice=here.NICE))


def package_flags():
    """Variables for configure with which a build has the objects of the packages (dpkg-buildflags(1)), where packages can be built."""
    found = []
    for name in ('CFLAGS', 'CPPFLAGS'):
        try:
            done = subprocess.run(['dpkg-buildflags', '--get', name], env={**os.environ, 'DEB_BUILD_MAINT_OPTIONS': 'hardening=+all'},
                                  cwd=here.SOURCE_DIR, stdout=subprocess.PIPE, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return []
        found.append(f'{name}={done.stdout.strip()}')
    return found


def programs_of(units):
    return sorted({f'tests/unit/{here.unit_programs()[name]}' for name in units})


def variables(text):
    return dict(word.split('=', 1) for word in text.split())


def of_the_night(path, paths):
    kind, also = here.marker(path)
    return kind == 'night' and not (also and (not paths or any(p.startswith(tuple(also)) for p in paths)))


def full(plan, night):
    """Everything that guards a landing, or everything there is."""
    units = sorted(name for names in here.unit_lists().values() for name in names)
    changed = Change().paths
    scripts = [path for path in here.scripts() if night or not of_the_night(path, changed)]
    left = [short(path) for path in here.scripts() if path not in scripts]
    if left:
        print(f'left for ./check --night: {" ".join(left)}')
    plan.roots(scripts)
    plan.configure(again=True)
    runs = list(plan.unit_runs(units, night))
    plan.build(runs, here.fuzz_targets(), scripts)
    plan.scripts(scripts, night)
    plan.unit_tests(runs)
    plan.lint('' if night else here.table('tests/lint/whole')[0][0])
    plan.fuzz(here.fuzz_targets())


def quick(plan, named):
    """The tests of the areas that are named, or that the change touches."""
    change = Change()
    if named:
        touched, own = named, set()
        print(f'areas: {" ".join(named)}')
    else:
        if not change.base:
            sys.exit(f'git does not know what this tree began with. Name the areas: ./check --quick {" ".join(areas())}')
        own = changed_tests(change.paths)
        touched = sorted({area_of(path) for path in change.paths} - {''})
        print(f'{len(change.paths)} files differ from {change.base[:12] or "nothing"}; areas: {" ".join(touched) or "none"}'
              + (f'; changed tests: {" ".join(sorted(own))}' if own else ''))
    units, fuzz, scripts = tests_of(touched)
    units |= own & {name for names in here.unit_lists().values() for name in names}
    fuzz |= own & set(here.fuzz_targets())
    scripts |= {path for path in here.scripts() if short(path) in own}
    plan.roots(scripts)
    plan.configure(again=False)
    runs = list(plan.unit_runs(sorted(units), samples=False))
    plan.build(runs, sorted(fuzz), scripts)
    plan.scripts(scripts)
    plan.unit_tests(runs)
    plan.lint(change.base)
    plan.fuzz(sorted(fuzz))


def tests_of(names):
    """Unit tests, fuzz targets and scripts of these areas."""
    lists, units, fuzz, found = here.unit_lists(), set(), set(), set()
    for name in names:
        _, tests, patterns = areas()[name]
        for test in tests:
            units |= set(lists.get(test, ()))
            fuzz |= {test} & set(here.fuzz_targets())
        found |= {path for path in here.scripts() for pattern in patterns if fnmatch.fnmatch(short(path), pattern)}
    return units, fuzz, {path for path in found if here.marker(path)[0] != 'night'}


def tell_areas():
    for name, (paths, _, _) in areas().items():
        units, fuzz, scripts = tests_of([name])
        print(f'{name:10} {" ".join(paths)}\n           {len(units)} unit tests, {len(fuzz)} fuzz targets, lint, '
              f'{" ".join(short(path) for path in sorted(scripts)) or "no script"}')
    kinds = {path: here.marker(path) for path in here.scripts()}
    print('\nEach ./check runs all of that, and all other scripts, but at night only:')
    for path, (kind, also) in kinds.items():
        if kind == 'night':
            print(f'           {short(path)}' + (f' (and when {" ".join(also)} change)' if also else ''))
    print(f'           {len(Plan("").heavy)} heavy unit tests under sanitizers in full; more seeds, histories, floods and siege')


class Account:
    """What the machine is like and does while a check runs: what its budget is judged by."""
    SOURCE = f'{here.SOURCE_DIR}/tests/lib/calibrate.c'

    def __init__(self):
        self.calibration_s, self.budget = budget.read(here.table('tests/budget'))
        self.slowness = self.measured() or 1.0
        self.cache, self.busy_s = budget.cache_counts(), costs.busy_s()

    def measured(self):
        took = costs.calibrate(self.SOURCE)
        return took and took / self.calibration_s

    def settle(self, run):
        """Tells who is over the budget, and counts a failure where the whole is."""
        wall_s = time.monotonic() - run.began
        others = max(costs.busy_s() - self.busy_s - run.cpu_s - sum(os.times()[:2]), 0) / wall_s
        missed = budget.missed_part(self.cache, budget.cache_counts())
        slowness = max(self.slowness, self.measured() or 1.0)
        lines, holds = budget.judge(self.budget, {name: cost.cpu_s for name, cost in run.cost.items()}, slowness, missed, others)
        for line in lines:
            run.line(line)
        if not holds:
            run.failed += 1
            run.missing['failed'].append('budget')
            run.line('FAILED budget')
        return holds


def lock(build_dir):
    os.makedirs(build_dir, exist_ok=True)
    held = open(f'{build_dir}/lock', 'w', encoding='utf-8')  # pylint: disable=consider-using-with
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f'another ./check works in {build_dir}: wait for it, or name another folder with EDL_CHECK_DIR')
    return held


def lay_networks(build_dir):
    """A trainer of a checkout finds the networks that ship one or two folders above itself. One that is built elsewhere finds a link."""
    os.makedirs(build_dir, exist_ok=True)
    if not any(os.path.isdir(f'{build_dir}/{up}conf/models') for up in ('', '../')):
        os.symlink(f'{here.SOURCE_DIR}/conf', f'{build_dir}/conf')


def main():
    parser = argparse.ArgumentParser(prog='plan.py', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build-dir', default=f'{here.SOURCE_DIR}/build-check')
    parser.add_argument('--list', action='store_true', help='tells the areas and what each runs')
    parser.add_argument('--dry-run', action='store_true', help='tells the steps and runs none')
    parser.add_argument('mode', choices=('full', 'quick', 'night'), nargs='?', default='full')
    parser.add_argument('areas', nargs='*')
    given = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if given.list:
        tell_areas()
        return 0
    plan = Plan(given.build_dir)
    today = datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%d')
    os.environ.setdefault('EDL_SEED', today if given.mode == 'night' else SEED)
    os.environ['EDL_SOURCE_DIR'] = here.SOURCE_DIR
    # what machines are made of is the same for all checkouts, and takes two minutes of CPU to make
    os.environ.setdefault('EDL_MACHINES_DIR', os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'edl-machines'))
    if given.mode == 'quick':
        quick(plan, given.areas)
    else:
        full(plan, given.mode == 'night')
    if given.dry_run:
        for step in plan.steps:
            print(f'{step.lane:9} {step.cores} {step.name}' + (f'  after {" ".join(step.needs + step.after)}' if step.needs + step.after else ''))
        return 0
    if given.mode == 'night' and 'EDL_TEST_TIMEOUT_S' not in os.environ:
        for step in plan.steps:
            step.limit_s *= 6
    held = lock(given.build_dir)
    lay_networks(given.build_dir)
    log = f'{given.build_dir}/log'
    os.makedirs(log, exist_ok=True)
    with open(f'{log}/seconds', 'w', encoding='utf-8'):
        pass
    known = costs.read(f'{here.SOURCE_DIR}/tests/costs')
    account = Account()
    print(f'{len(plan.steps)} steps; seeds from EDL_SEED={os.environ["EDL_SEED"]} (set it to run with the same); logs in {log}', flush=True)
    run = steps.Run(plan.steps, log, known, account.slowness, UNSTEADY_MOST if given.mode == 'full' else 0)
    passed = run.go()
    costs.write(f'{log}/costs', {**(known if given.mode == 'quick' else {}), **run.cost})
    run.tell_the_slowest()
    if given.mode == 'full':
        passed = account.settle(run) and passed
    run.tell_counts()
    held.close()
    return 0 if passed else 1


sys.exit(main())
