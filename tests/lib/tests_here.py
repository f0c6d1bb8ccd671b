# SPDX-License-Identifier: Apache-2.0
"""tests_here.py - the tests of this checkout: what is there, what each says of itself, and the steps that run them"""
import functools
import glob
import os
import re

from steps import ALONE, COMPUTES, WAITS, Step

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARKERS = (('alone', r'# Runs alone: measures (.+)'),
           ('night', r'# Runs at night(?:, and for (?P<paths>[^:]+))?: (.+)'))
NICE = 10  # tests that compute give way to tests that wait for events
# a test frees a world and builds the next one: memory that goes back to the kernel in between comes again page by page, which takes nine
# tenths of the time of some (mallopt(3)); what is freed is still told from what is there, for 16 MB more
ROOMY = {'MALLOC_TRIM_THRESHOLD_': '1000000000', 'MALLOC_MMAP_THRESHOLD_': '1000000000', 'MALLOC_TOP_PAD_': '16777216',
         'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', 'quarantine_size_mb=16:thread_local_quarantine_size_kb=64')}
LIMIT_S = float(os.environ.get('EDL_TEST_TIMEOUT_S', '1800'))  # it ends only what hangs


def read(path):
    with open(os.path.join(SOURCE_DIR, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def table(path):
    """Rows of a file whose columns are parted by "|"."""
    rows = [line for line in read(path).splitlines() if line.strip() and not line.startswith('#')]
    return [[cell.strip() for cell in row.split('|')] for row in rows]


def unit_lists():
    """List of tests/unit -> names of its files of tests: {"agent": ["test_account", ...]}"""
    lists = {}
    for path in sorted(glob.glob(os.path.join(SOURCE_DIR, 'tests/unit/*.inc'))):
        lists[os.path.basename(path)[:-4]] = sorted(set(re.findall(r'tests/unit/(test_\w+?)(?:\.c)?(?=\s|$)', read(path), re.M)))
    return lists


@functools.lru_cache(None)
def unit_programs():
    """File of tests -> the program that has it: "list_agent", or one of its own"""
    programs = {}
    for name, tests in unit_lists().items():
        own = set(re.findall(r'tests/unit/(test_\w+)(?=\s|$)', read(f'tests/unit/{name}.inc'), re.M))
        programs.update({test: test if test in own else f'list_{name}' for test in tests})
    return programs


def conditional_tests():
    """Unit tests that configure leaves out where something is missing, such as CUDA."""
    paths = glob.glob(os.path.join(SOURCE_DIR, 'tests/unit/*.inc'))
    return {name for path in paths for name in re.findall(r'^CONDITIONAL_TESTS \+= tests/unit/(test_\w+)', read(path), re.M)}


def fuzz_targets():
    files = ['tests/fuzz/Makefile.inc', *(os.path.relpath(path, SOURCE_DIR) for path in glob.glob(os.path.join(SOURCE_DIR, 'tests/unit/*.inc')))]
    return sorted({name for file in files for name in re.findall(r'tests/fuzz/(replay_[a-z_]+)(?=\s|$)', read(file), re.M)})


def scripts():
    """Names of all scripts that are tests, as paths in the checkout."""
    found = []
    for folder in ('cluster', 'integration', 'sim'):
        found += glob.glob(os.path.join(SOURCE_DIR, f'tests/{folder}/[0-9]*.sh'))
    return sorted(os.path.relpath(path, SOURCE_DIR) for path in found)


def marker(path):
    """How a script wants to run: (kind, paths for whose changes one of the night runs, too)."""
    for line in read(path).splitlines()[:40]:
        for kind, pattern in MARKERS:
            found = re.fullmatch(pattern, line)
            if found:
                return kind, (found.groupdict().get('paths') or '').split()
    return '', []


def unit_step(name, build_dir, prefix='', **more):
    program = unit_programs().get(name, name)
    command = [f'{build_dir}/tests/unit/{program}', *([name] if program != name else [])]
    if name in conditional_tests():
        command = ['sh', '-c', f'[ -x "$0" ] || {{ echo "configure left it out"; exit 77; }}; exec "$0"', *command]
    environment = {**ROOMY, 'EDL_BUILD_DIR': build_dir, **more.pop('environment', {})}
    return Step(prefix + name, command, COMPUTES, limit_s=LIMIT_S, nice=NICE, environment=environment,
                source=os.path.join(SOURCE_DIR, f'tests/unit/{name}.c'), **more)


def fuzz_step(name, build_dir, **more):
    corpus = os.path.join(SOURCE_DIR, 'tests/fuzz/corpus', name[len('replay_'):])
    files = sorted(os.path.join(at, file) for at, _, names in os.walk(corpus) for file in names)
    command = [f'{build_dir}/tests/fuzz/{name}', *files] if files else ['sh', '-c', f'echo no corpus in {corpus}; exit 1']
    return Step(name, command, COMPUTES, limit_s=LIMIT_S, nice=NICE, environment={**ROOMY, 'EDL_BUILD_DIR': build_dir}, **more)


def script_step(path, build_dir, name='', environment=None, **more):
    kind = marker(path)[0]
    more.setdefault('lane', ALONE if kind == 'alone' else WAITS)
    more['nice'] = NICE if more['lane'] == COMPUTES else 0
    return Step(name or os.path.basename(path), ['bash', os.path.join(SOURCE_DIR, path)], limit_s=LIMIT_S, folder=SOURCE_DIR,
                source=os.path.join(SOURCE_DIR, path), environment={'EDL_BUILD_DIR': build_dir, **(environment or {})}, **more)
