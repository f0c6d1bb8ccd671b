# SPDX-License-Identifier: Apache-2.0
"""Programs that are still in Python 2: what Python 3 says of them, and the one line that helps."""
from __future__ import annotations

import os
import re
import traceback
from typing import Optional

from ._errors import HERE, ConfigError

# kind of error: what its text says where the program is in Python 2
SIGNS = {
    SyntaxError: r"Missing parentheses in call to|multiple exception types must be parenthesized|leading zeros in decimal",
    NameError: r"name '(xrange|unicode|raw_input|basestring|long|reduce|unichr|reload|execfile|cmp)'",
    AttributeError: r"has no attribute '(iteritems|iterkeys|itervalues|has_key|next|maketrans|letters|getcwdu)'",
    TypeError: r"unsupported operand type\(s\) for >>: 'builtin_function_or_method'",
    ImportError: r"No module named '(cPickle|ConfigParser|Queue|StringIO|cStringIO|urllib2|urlparse|commands|__builtin__)'|"
                 r"cannot import name '(izip|imap|ifilter|izip_longest)'",
}
LINE = re.compile(r"^\s*print\s+[^=\s(]|^\s*print\s*>>|^\s*exec\s+['\"\w]|^\s*raise\s+\w[\w.]*\s*,|<>|`|"
                  r"(?<![\w.])(\d+|0[xX][0-9a-fA-F]+)[lL]\b")
STRINGS = re.compile(r"""(['"])(?:\\.|(?!\1).)*\1|#.*""")


def _is_line(text: str) -> bool:
    """The line is none of Python 3, whatever lies in its strings."""
    return LINE.search(STRINGS.sub(lambda found: "" if found[0].startswith("#") else "''", text)) is not None


def _called_file(error: BaseException) -> bool:
    """It calls file(...), as nobody does who forgot to set a variable of that name."""
    frames = traceback.extract_tb(error.__traceback__)
    return str(error).startswith("name 'file'") and bool(frames) and re.search(r"\bfile\s*\(", frames[-1].line or "") is not None


def _file_of(error: BaseException) -> str:
    """FILE:LINE where a program that is not ours failed."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not os.path.dirname(os.path.abspath(frame.filename)).startswith(os.path.dirname(HERE))
              and "importlib" not in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def python2_error(error: BaseException) -> Optional[ConfigError]:
    """The error to tell instead, where this one is about Python 2; else None."""
    signs = next((text for kind, text in SIGNS.items() if isinstance(error, kind)), None)
    if signs is None:
        return None
    is_line = isinstance(error, SyntaxError) and _is_line(error.text or "")
    if not is_line and re.search(signs, str(error)) is None and not _called_file(error):
        return None
    place = _file_of(error)
    said = error.msg if isinstance(error, SyntaxError) else error
    return ConfigError(f"this is Python 2: 2to3 -w {place.rpartition(':')[0]}", f"Python 3 says: {said}", place)
