# SPDX-License-Identifier: Apache-2.0
"""Data of a trainer_config.py: define_py_data_sources2, and @provider of the module that it names."""
from __future__ import annotations

import importlib
import logging
import os
import shutil
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

from ._errors import ConfigError, checked, without_effect
from ._graph import GRAPH, Layer, behind
from ._network import check_types, fed_of, inputs_of, settle_types
from ._records import write_description, write_file
from ._types import InputType

Types = Union[Sequence[InputType], Dict[str, InputType]]


class CacheType:
    """Every pass is in memory here, so both say the same."""
    NO_CACHE = 0
    CACHE_PASS_IN_MEM = 1


class Settings:
    """What init_hook and the provider's function share: input_types, and whatever they set."""

    def __init__(self, input_types: Optional[Types]) -> None:
        self.input_types = input_types
        self.logger = logging.getLogger("paddle")
        self.is_train = True

    @property
    def slots(self) -> Optional[Types]:
        return self.input_types

    @slots.setter
    def slots(self, value: Types) -> None:
        self.input_types = value


class Provider:
    """A function that yields the samples of a file, with what @provider says of it."""

    def __init__(self, function: Callable[..., Any], input_types: Optional[Types],
                 init_hook: Optional[Callable[..., None]], should_shuffle: Optional[bool] = None) -> None:
        self.function, self.input_types, self.init_hook = function, input_types, init_hook
        self.should_shuffle = should_shuffle
        self.__name__ = function.__name__

    def open(self, files: List[str], is_train: bool, args: Dict[str, Any]) -> Settings:
        """Settings of one reading, after the init_hook."""
        settings = Settings(self.input_types)
        settings.is_train = is_train
        if self.init_hook is not None:
            self.init_hook(settings, file_list=files, is_train=is_train, **args)
        if not settings.input_types:
            raise ConfigError(f"the provider {self.__name__} has no input_types",
                              "@provider(input_types=[...]), or set settings.input_types in its init_hook",
                              place_of(self.function))
        return settings


def place_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


@checked
def provider(input_types: Optional[Types] = None, should_shuffle: Optional[bool] = None,
             pool_size: int = -1, min_pool_size: int = -1, can_over_batch_size: bool = True,
             calc_batch_size: Any = None, cache: int = CacheType.NO_CACHE, check: bool = False,
             check_fail_continue: bool = False, init_hook: Optional[Callable[..., None]] = None, **more: Any) -> Any:
    """Says what the samples of the function below it are. more: names of before, of which slots are input_types."""
    if calc_batch_size is not None:
        raise ConfigError("@provider with calc_batch_size is not supported", "every sample counts as one")
    if check_fail_continue:
        raise ConfigError("@provider with check_fail_continue is not supported", "a sample that is wrong is an error")
    if cache not in (CacheType.NO_CACHE, CacheType.CACHE_PASS_IN_MEM):
        raise ConfigError(f"@provider: cache is {cache!r}", "CacheType has NO_CACHE and CACHE_PASS_IN_MEM")
    for name, value, default in (("pool_size", pool_size, -1), ("min_pool_size", min_pool_size, -1),
                                 ("can_over_batch_size", can_over_batch_size, True)):
        if value != default:
            without_effect(f"@provider: {name}", "all samples of a pass are shuffled together, and each counts as one")
    if input_types is None:
        input_types = more.pop("slots", None)
    for name in more:
        without_effect(f"@provider: {name}", "input_types tell what the samples are")
    return lambda function: Provider(function, input_types, init_hook, should_shuffle)


class Sources(NamedTuple):
    """Where the data of a configuration are: file lists, the module and the provider in it."""
    train: Any
    test: Any
    module: Any
    name: Any
    args: Any

    def of(self, is_train: bool) -> "Sources":
        """The variant for training or for testing, of what is given twice."""
        def pick(value: Any) -> Any:
            return value[0 if is_train else 1] if isinstance(value, tuple) else value
        return self._replace(module=pick(self.module), name=pick(self.name), args=pick(self.args))


@checked
def define_py_data_sources2(train_list: Any, test_list: Any, module: Any, obj: Any, args: Any = None) -> None:
    GRAPH.sources = Sources(train_list, test_list, module, obj, args)


def _files(listed: Any) -> List[str]:
    if isinstance(listed, (list, tuple)):
        return [str(path) for path in listed]
    try:
        with open(listed, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file if line != "\n"]  # a blank may stand for data without a file
    except OSError as error:
        raise ConfigError(f"cannot read the file list {listed}: {error.strerror}",
                          "it holds the path of a data file in each line; give other samples with --data",
                          "") from None


def _provider(sources: Sources) -> Provider:
    try:
        module = importlib.import_module(sources.module)
    except ModuleNotFoundError as error:
        raise ConfigError(f"there is no module {error.name}, which define_py_data_sources2 needs",
                          f"put {error.name}.py beside the configuration", "") from None
    found = getattr(module, sources.name, None)
    if not isinstance(found, Provider):
        raise ConfigError(f"{sources.module}.{sources.name} is no provider", "put @provider(...) above it",
                          getattr(module, "__file__", "") or "")
    return found


def _in_order(types: Types, inputs: Sequence[Layer]) -> List[InputType]:
    if not isinstance(types, dict):
        return list(types)
    missing = [layer.name for layer in inputs if layer.name not in types]
    if missing:
        raise ConfigError(f"input_types has no type for data layer {missing[0]}",
                          "there are: " + ", ".join(types), "")
    return [types[layer.name] for layer in inputs]


def _samples(found: Provider, settings: Settings, files: List[str], inputs: Sequence[Layer]) -> Iterator[Any]:
    one = len(inputs) == 1
    for path in files:
        made = found.function(settings, path)
        if not hasattr(made, "__iter__"):
            raise ConfigError(f"the provider {found.__name__} yields nothing", "yield a sample, or many",
                              place_of(found.function))
        for sample in made:
            if isinstance(sample, dict):
                absent = [layer.name for layer in inputs if layer.name not in sample]
                if absent:
                    raise ConfigError(f"a sample of {path} has no {absent[0]}", "", place_of(found.function))
                yield [sample[layer.name] for layer in inputs]
            else:
                yield [sample] if one else sample


def _part(part: str, listed: Any, folder: str, layers: Sequence[Layer]) -> int:
    is_train = part == "train"
    sources = GRAPH.sources.of(is_train)
    files = _files(listed)
    found = _provider(sources)
    settings = found.open(files, is_train, dict(sources.args or {}))
    if is_train and found.should_shuffle is False:
        GRAPH.settings["shuffle"] = 0
    fed, inputs = fed_of(layers), inputs_of(layers)
    check_types(layers, _in_order(settings.input_types or [], fed))
    settle_types(layers)
    places = [fed.index(layer) for layer in inputs]
    samples = _samples(found, settings, files, fed)
    if len(fed) > len(inputs):
        samples = ([sample[place] for place in places] for sample in samples)
    return write_file(folder, part, inputs, samples)


def write_sources(folder: str) -> Dict[str, int]:
    """The data set of the configuration in a folder that is made; how many samples it has."""
    layers = behind(GRAPH.outputs)
    os.makedirs(folder)
    counts = {}
    for part, listed in (("train", GRAPH.sources.train), ("test", GRAPH.sources.test)):
        if listed is not None:
            counts[f"{part}_samples"] = _part(part, listed, folder, layers)
    if "train_samples" not in counts and counts:  # a data set has samples to train as well
        shutil.copy(os.path.join(folder, "test-00000-of-00001.recordio"),
                    os.path.join(folder, "train-00000-of-00001.recordio"))
    write_description(folder, inputs_of(layers), counts)
    return counts
