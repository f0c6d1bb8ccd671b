# SPDX-License-Identifier: Apache-2.0
"""budget.py - whether a check takes no more of the processor than tests/budget allows"""
import dataclasses
import fnmatch
import subprocess

AREA_OVER, ALL_OVER = 1.25, 1.1
QUIET_CORES = 0.2  # what others may use of the machine in the mean where a check can fail by its budget
TOLD_STEPS = 3


@dataclasses.dataclass
class Row:
    """What one area may take, without a compiler cache and with all of it there."""
    area: str
    cold_s: float
    warm_s: float
    patterns: list

    def may_s(self, missed):
        """missed: part of what was compiled that was not in the compiler cache."""
        return self.warm_s + (self.cold_s - self.warm_s) * missed


def read(rows):
    """Rows of tests/budget -> (CPU seconds of the calibration, [Row]); the last one is of the whole."""
    calibration_s = next(float(row[1]) for row in rows if row[0] == 'calibrate')
    return calibration_s, [Row(row[0], float(row[1]), float(row[2]), row[3].split()) for row in rows if row[0] != 'calibrate']


def area_of(budget, step):
    """The first row that has a pattern for the step."""
    return next((row for row in budget if any(fnmatch.fnmatchcase(step, pattern) for pattern in row.patterns)), None)


def judge(budget, took_s, slowness, missed, others_cores):
    """took_s: step -> CPU seconds. slowness: CPU seconds here for one of the budget. others_cores: what others used of the machine in
    the mean. Returns lines to tell, and whether the whole holds."""
    lines, areas = [], []
    for row in budget[:-1]:
        own = {step: s for step, s in took_s.items() if area_of(budget[:-1], step) is row}
        may = row.may_s(missed) * slowness
        areas.append(f'{row.area} {sum(own.values()):.0f} of {may:.0f}')
        if sum(own.values()) > may * AREA_OVER:
            dearest = sorted(own.items(), key=lambda item: -item[1])[:TOLD_STEPS]
            lines.append(f'over its budget: {row.area} {sum(own.values()):.0f} of {may:.0f} CPU s: '
                         + ', '.join(f'{step} {s:.0f} s' for step, s in dearest))
    lines.append(f'CPU s by area: {", ".join(areas)}')
    may, took = budget[-1].may_s(missed) * slowness, sum(took_s.values())
    lines.append(f'budget: {took:.0f} of {may:.0f} CPU s (a core here counts {1 / slowness:.2f}; {missed:.0%} compiled anew)')
    if took <= may * ALL_OVER:
        return lines, True
    if others_cores > QUIET_CORES:
        lines.append(f'that is over it; others used {others_cores:.1f} cores of this machine, so it does not count')
        return lines, True
    lines.append('that is over it by more than a tenth: make a step cheaper, or leave its larger part for the night; tests/budget has the areas')
    return lines, False


def cache_counts():
    """(what the compiler cache had, what it had not), as it counts itself (ccache(1), --print-stats); zeros without one."""
    try:
        text = subprocess.run(['ccache', '--print-stats'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    counts = {name: int(value) for name, value in (line.split('\t')[:2] for line in text.splitlines() if '\t' in line)}
    return counts.get('direct_cache_hit', 0) + counts.get('preprocessed_cache_hit', 0), counts.get('cache_miss', 0)


def missed_part(before, after):
    """Of what was compiled between two counts; all of it where there is no cache."""
    had, lacked = (now - then for now, then in zip(after, before))
    return lacked / (had + lacked) if had + lacked > 0 else 1.0
