/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_words.c - faults and transports as words for --json and options */
#include "client/ssh/ssh_session.h"

#include "shared/macro.h"

static const char *const fault_words[] = {
#define XX(name, word) [name] = word,
    SSH_FAULT_MAP(XX)
#undef XX
};

static const char *const transport_words[] = {
#define XX(name, word) [name] = word,
    SSH_TRANSPORT_MAP(XX)
#undef XX
};

const char *ssh_fault_word(enum ssh_fault fault)
{
    return fault_words[fault];
}

const char *ssh_transport_word(enum ssh_transport transport)
{
    return transport_words[transport];
}

bool ssh_transport_of(const char *word, enum ssh_transport *ret)
{
    for (size_t i = 0; i < ELEMENTS(transport_words); i++) {
        if (streq(word, transport_words[i])) {
            *ret = (enum ssh_transport)i;
            return true;
        }
    }
    return false;
}
