# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.init: flags of the trainer, from PADDLE_INIT_NAME and from keywords, which win."""
from __future__ import annotations

import os
import time
from typing import Any, Dict, Optional

from ._errors import ConfigError, nearest, without_effect

# name: its default where it changes nothing here, None where it acts
FLAGS: Dict[str, Optional[str]] = {
    "use_gpu": None, "seed": None, "port": None, "ports_num": None, "ports_num_for_sparse": None,
    "trainer_id": None, "pservers": None, "trainer_count": "1", "num_gradient_servers": "1",
    "log_period": "100", "dot_period": "1", "use_mkldnn": "0", "log_error_clipping": "0",
    "nics": "", "local": "1", "gpu_id": "0", "rdma_tcp": "tcp", "start_pserver": "0"}
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
    for name, value in sorted(flags.items()):
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if FLAGS[name] not in (None, text):
            without_effect(f"paddle.init: {name}", "edl-trainer trains by one thread, and tells each batch")


def options() -> Dict[str, str]:
    """The flags as options of edl-trainer."""
    ret = {}
    if str(GIVEN.get("use_gpu", "")).lower() in ("1", "true"):
        ret["device"] = "cuda"
    seed = str(GIVEN.get("seed", ""))
    if seed:
        ret["seed"] = str(time.time_ns()) if seed == "0" else seed  # 0: another one each time, as PaddlePaddle has it
    return ret
