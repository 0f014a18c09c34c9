/* cmocka with what its header needs and does not include, in the order in which it needs it. */
#ifndef QUERN_TESTS_UNIT_TEST_H
#define QUERN_TESTS_UNIT_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
