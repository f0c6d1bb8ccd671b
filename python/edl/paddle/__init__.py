# SPDX-License-Identifier: Apache-2.0
"""The names of PaddlePaddle's configurations and programs, for networks that edl-trainer trains.

    python3 -m edl.trainer_config trainer_config.py --out FOLDER    # paddle.trainer_config_helpers
    python3 -m edl.paddle train_local.py                            # paddle.v2

Each puts modules called `paddle` before the program runs. Nobody else sees them: a PaddlePaddle that
is installed is what `import paddle` finds everywhere else. edl-trainer-config(5) lists the names.
"""
from __future__ import annotations

from ._errors import ConfigError
from ._install import install

__all__ = ["ConfigError", "install"]
