# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.dataset.movielens: ratings of MovieLens 1M, of the archive in ~/.cache/paddle/dataset."""
from __future__ import annotations

import functools
import random
import re
import zipfile
from typing import Any, Callable, Dict, Iterator, List

from ._sets import file_of

AGES = [1, 18, 25, 35, 45, 50, 56]
TITLE = re.compile(r"^(.*)\((\d+)\)$")


class MovieInfo:
    """A film; value() is what a sample has of it."""

    def __init__(self, index: int, categories: List[str], title: str) -> None:
        self.index, self.categories, self.title = index, categories, title

    def value(self) -> List[Any]:
        words, categories = get_movie_title_dict(), movie_categories()
        return [self.index, [categories[item] for item in self.categories],
                [words[word.lower()] for word in self.title.split()]]


class UserInfo:
    """A person; value() is what a sample has of one."""

    def __init__(self, index: int, gender: str, age: int, job_id: int) -> None:
        self.index, self.is_male, self.age, self.job_id = index, gender == "M", AGES.index(age), job_id

    def value(self) -> List[Any]:
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]


def _lines(name: str) -> Iterator[List[str]]:
    with zipfile.ZipFile(file_of("movielens", "ml-1m.zip")) as archive, archive.open(f"ml-1m/{name}.dat") as file:
        for line in file:
            yield line.decode("latin-1").strip().split("::")


@functools.lru_cache(maxsize=1)
def movie_info() -> Dict[int, MovieInfo]:
    ret = {}
    for index, title, categories in _lines("movies"):
        found = TITLE.match(title)
        ret[int(index)] = MovieInfo(int(index), categories.split("|"), found[1] if found else title)
    return ret


@functools.lru_cache(maxsize=1)
def user_info() -> Dict[int, UserInfo]:
    return {int(index): UserInfo(int(index), gender, int(age), int(job)) for index, gender, age, job, _ in _lines("users")}


def _numbered(values: Any) -> Dict[str, int]:
    return {value: i for i, value in enumerate(sorted(set(values)))}


@functools.lru_cache(maxsize=1)
def get_movie_title_dict() -> Dict[str, int]:
    return _numbered(word.lower() for movie in movie_info().values() for word in movie.title.split())


@functools.lru_cache(maxsize=1)
def movie_categories() -> Dict[str, int]:
    return _numbered(item for movie in movie_info().values() for item in movie.categories)


def max_movie_id() -> int:
    return max(movie_info())


def max_user_id() -> int:
    return max(user_info())


def max_job_id() -> int:
    return max(user.job_id for user in user_info().values())


def _ratings(is_test: bool) -> Callable[[], Iterator[Any]]:
    """A tenth of the ratings is for testing, always the same."""
    file_of("movielens", "ml-1m.zip")

    def read() -> Iterator[Any]:
        draw = random.Random(0)
        for user, movie, stars, _ in _lines("ratings"):
            if (draw.random() < 0.1) == is_test:
                yield user_info()[int(user)].value() + movie_info()[int(movie)].value() + [[float(stars) * 2 - 5.0]]
    return read


NAMES: Dict[str, Any] = {
    "train": lambda: _ratings(False), "test": lambda: _ratings(True), "age_table": AGES, "MovieInfo": MovieInfo, "UserInfo": UserInfo,
    **{function.__name__: function for function in (movie_info, user_info, get_movie_title_dict, movie_categories,
                                                    max_movie_id, max_user_id, max_job_id)}}
