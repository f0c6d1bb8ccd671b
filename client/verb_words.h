/* SPDX-License-Identifier: Apache-2.0 */
/* verb_words.h - words of other systems in the place of a verb, and what to type here; pure */
#pragma once

/* verb_of_word - what to type instead of a word that is no verb: "edl ps"; NULL: nobody knows */
const char *verb_of_word(const char *word);
