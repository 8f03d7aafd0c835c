/* Version: the library is the one of the header, and says with which headers it can be used. */
#include "check.h"

int main(void)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH);
    CHECK_TEXT(tern_version_text(), text);
    CHECK(tern_version_text() == tern_version_text());
    CHECK_EQ(tern_version(), TERN_VERSION_NUMBER);
    CHECK_EQ(TERN_VERSION_NUMBER, TERN_VERSION_MAJOR * 1000000 + TERN_VERSION_MINOR * 1000 + TERN_VERSION_PATCH);

    EXPECT(TERN_OK, tern_abi_check, TERN_VERSION_NUMBER);
    CHECK_EQ(tern_abi_check(TERN_VERSION_NUMBER, NULL), TERN_OK);

    /* A fix changes nothing. Before 1.0 every other version may have changed something, and does not fit. */
    const uint32_t first = TERN_VERSION_NUMBER - TERN_VERSION_PATCH;
    EXPECT(TERN_OK, tern_abi_check, first);
    EXPECT(TERN_OK, tern_abi_check, first + 999);
    const uint32_t others[] = { 0, 1, first - 1, first + 1000, first + 1000000, first + 999000, INT32_MAX, UINT32_MAX };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        EXPECT(TERN_ERR_VERSION, tern_abi_check, others[i]);
        CHECK_EQ(tern_abi_check(others[i], NULL), TERN_ERR_VERSION);
    }
    return finish(__FILE__);
}
