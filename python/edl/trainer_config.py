# SPDX-License-Identifier: Apache-2.0
"""python3 -m edl.trainer_config FILE: a trainer_config.py as a network and a data set of edl-trainer.

The file is a program of its user's own: it is run as it is, with the names of
paddle.trainer_config_helpers before it. docs/paddle-names.md lists them.
"""
from __future__ import annotations

import argparse
import os
import sys
import traceback
from typing import Any, Dict, List, Optional

from .paddle import ConfigError, install
from .paddle._errors import nearest, working
from .paddle._graph import GRAPH, behind
from .paddle._program_words import ELSEWHERE
from .paddle._program_words import NAMES as PROGRAM_WORDS
from .paddle._network import inputs_of, network, settle_types, to_text
from .paddle._provider import write_sources
from .paddle._python2 import python2_error
from .paddle._refused import NAMES as REFUSED
from .paddle._settings import get_config_arg


def _arguments(text: Optional[str]) -> Dict[str, str]:
    ret: Dict[str, str] = {}
    for item in filter(None, (text or "").split(",")):
        name, found, value = item.partition("=")
        if not found or not name:
            raise ConfigError(f"--config_args: {item!r} is not NAME=VALUE", "", "")
        ret[name] = value
    return ret


def _line_of(error: BaseException, file: str) -> str:
    """FILE:LINE of the innermost frame in the user's own folder."""
    folder = os.path.dirname(os.path.abspath(file))
    ret = f"{file}:{getattr(error, 'lineno', None) or 1}"
    for frame in traceback.extract_tb(error.__traceback__):
        if os.path.dirname(os.path.abspath(frame.filename)) == folder:
            ret = f"{frame.filename}:{frame.lineno}"
    return ret


def _run(file: str, names: Dict[str, Any]) -> None:
    """Runs the user's file; whatever it raises becomes a ConfigError with its line."""
    try:
        with open(file, "rb") as source:
            text = source.read()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "", "") from None
    try:
        exec(compile(text, file, "exec"), names)
    except ConfigError:
        raise
    except Exception as error:  # pylint: disable=broad-except
        raise _told(error, file, names) from (None if isinstance(error, NameError) else error)


def _told(error: Exception, file: str, names: Dict[str, Any]) -> ConfigError:
    """What a program has raised, with its line."""
    old = python2_error(error)
    if old is not None:
        error.__suppress_context__ = True
        return old
    if isinstance(error, NameError):
        name = str(error).split("'")[1] if "'" in str(error) else str(error)
        return ConfigError(f"there is no name {name}", nearest(name, working(names)), _line_of(error, file))
    return ConfigError(f"{type(error).__name__}: {error}", "", _line_of(error, file))


def evaluate(file: str, arguments: Optional[str] = None) -> None:
    """Runs a configuration. edl.paddle's graph then holds what it has defined."""
    install(1)
    GRAPH.restart()
    GRAPH.arguments = _arguments(arguments)
    for folder in (os.path.dirname(os.path.abspath(file)), os.getcwd()):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    _run(file, {**REFUSED, **PROGRAM_WORDS, "get_config_arg": get_config_arg, "__name__": "__main__", "__file__": file})
    if not GRAPH.outputs:
        raise ConfigError(f"{file} has no outputs", "outputs(classification_cost(...))", "")
    GRAPH.settle()


def write(file: str, folder: str, with_data: bool) -> str:
    """network.json (and data/) of what evaluate() has found; the network's path."""
    layers = behind(GRAPH.outputs)
    os.makedirs(folder, exist_ok=True)
    if with_data and GRAPH.sources is not None:
        write_sources(os.path.join(folder, "data"))
    elif with_data and GRAPH.old_data:
        raise ConfigError(f"{GRAPH.old_data}(...) names data that nothing here reads", ELSEWHERE, "")
    settle_types(layers)
    print("The input order is [" + ", ".join(layer.name for layer in inputs_of(layers)) + "]")
    print("The output order is [" + ", ".join(layer.name for layer in GRAPH.outputs) + "]")
    name = os.path.splitext(os.path.basename(file))[0]
    path = os.path.join(folder, "network.json")
    with open(path, "w", encoding="utf-8") as out:
        out.write(to_text(network(GRAPH.outputs, GRAPH.settings, name)))
    return path


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m edl.trainer_config", description=__doc__.splitlines()[0])
    parser.add_argument("file", metavar="FILE", help="the trainer_config.py")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="network.json and data/ go there")
    parser.add_argument("--config_args", metavar="NAME=VALUE,...", help="what get_config_arg gives")
    parser.add_argument("--no-data", action="store_true", help="leave out the data set")
    options = parser.parse_args(argv)
    try:
        evaluate(options.file, options.config_args)
        write(options.file, options.out, not options.no_data)
    except ConfigError as error:
        if error.__cause__ is not None and python2_error(error.__cause__) is None:
            traceback.print_exception(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except Exception as error:  # pylint: disable=broad-except
        old = python2_error(error)
        if old is None:
            raise
        print(old, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
