/* SPDX-License-Identifier: Apache-2.0 */
/* options_help.h - what `edl-agent --help` prints */
#pragma once

extern const char agent_options_help[];
