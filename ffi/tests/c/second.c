/* The header once more in the same program, and twice in one file. */
#include <fencehold.h>
#include <fencehold.h>

uint32_t second_version(void);
uint32_t second_version(void) { return FH_VERSION_NUMBER; }
