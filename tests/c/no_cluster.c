/* A library without the cluster home says what to build it with, and repeats no password. */
#include "check.h"

int main(void)
{
    tern_manager_t *manager = NULL;
    tern_pool_t *pool = NULL;
    const char *url = "etcd://me:secret@localhost:2379/pool";
    EXPECT(TERN_ERR_UNSUPPORTED, tern_manager_open, TERN_STR(url), NULL, &manager);
    CHECK(manager == NULL);
    CHECK(strstr(err.message, "-DTERN_CLUSTER=ON") != NULL && strstr(err.message, "secret") == NULL);
    EXPECT(TERN_ERR_UNSUPPORTED, tern_pool_open, TERN_STR(url), NULL, &pool);
    CHECK(pool == NULL);
    return finish(__FILE__);
}
