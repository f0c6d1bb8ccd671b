/* SPDX-License-Identifier: Apache-2.0 */
/* own_address.h - at which of its addresses other machines reach this one, when nobody says it;
 * which interface has an address */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#define OWN_ADDRESS_MAX 46 /* of either family, with the end of the text */

/* own_address - the one from which this machine calls others; without a way to them that of the
 * first interface that has one. Numeric. The kernel alone is asked, nothing is sent.
 * family: AF_INET, AF_INET6, or AF_UNSPEC for either, the former first. false: there is none but
 * those that nobody else reaches (loopback, link-local); ret is "" then. */
bool own_address(int family, char ret[OWN_ADDRESS_MAX]);

/* own_address_serves - whether other machines may reach this one there: numeric, and neither
 * loopback nor link-local */
bool own_address_serves(const char *text);

/* own_interface - the name of the interface that has ADDRESS, which is numeric; false: none has */
bool own_interface(const char *address, char ret[IF_NAMESIZE]);
