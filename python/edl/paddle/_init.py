# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.init: flags of the trainer, from PADDLE_INIT_NAME and from keywords, which win."""
from __future__ import annotations

import os
import sys
from typing import Any, Dict

from ._errors import ConfigError, nearest

# name: whether it changes anything here
FLAGS: Dict[str, bool] = {
    "use_gpu": True, "seed": True, "port": True, "ports_num": True, "ports_num_for_sparse": True,
    "trainer_id": True, "pservers": True, "trainer_count": False, "num_gradient_servers": False,
    "log_period": False, "dot_period": False, "use_mkldnn": False, "log_error_clipping": False,
    "nics": False, "local": False, "gpu_id": False, "rdma_tcp": False, "start_pserver": False}
GIVEN: Dict[str, Any] = {}
PREFIX = "PADDLE_INIT_"


def init(**flags: Any) -> None:
    """Takes the flags. Those without an effect are named once. Servers matter to SGD(is_local=False)."""
    from_outside = {name[len(PREFIX):].lower(): value for name, value in os.environ.items()
                    if name.startswith(PREFIX)}
    GIVEN.clear()
    GIVEN.update({name: value for name, value in from_outside.items() if name in FLAGS})
    for name in flags:
        if name not in FLAGS:
            raise ConfigError(f"paddle.init has no flag {name}", nearest(name, FLAGS))
    GIVEN.update(flags)
    without = sorted(name for name in flags if not FLAGS[name] and str(flags[name]) not in ("1", "0", ""))
    if without:
        print("paddle.init: without effect here: " + ", ".join(without), file=sys.stderr)


def options() -> Dict[str, str]:
    """The flags as options of edl-trainer."""
    ret = {}
    if str(GIVEN.get("use_gpu", "")).lower() in ("1", "true"):
        ret["device"] = "cuda"
    if GIVEN.get("seed"):
        ret["seed"] = str(GIVEN["seed"])
    return ret
