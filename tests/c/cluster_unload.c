/*
 * The library is loaded and unloaded while its threads talk to etcd: nothing crashes, neither then nor when the program ends with a table
 * still open. TERN_LIBRARY is the path of the shared library, to which this program must not be linked.
 */
#define TESTED_WITHOUT_LINKING
#include "cluster.h"

#include <dlfcn.h>

/* The functions that are used, by the names of the header. */
#define FUNCTIONS(F) F(manager_open) F(manager_close) F(lease_acquire) F(lease_state) F(lease_release)

static struct library {
    void *handle;
#define F(name) __typeof__(&tern_##name) name;
    FUNCTIONS(F)
#undef F
} library;

static void load(void)
{
    const char *path = getenv("TERN_LIBRARY");
    CHECK(path != NULL);
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library.handle != NULL);
#define F(name)                                                                                                       \
    {                                                                                                                 \
        void *found = dlsym(library.handle, "tern_" #name);                                                           \
        CHECK(found != NULL);                                                                                         \
        memcpy(&library.name, &found, sizeof found);                                                                  \
    }
    FUNCTIONS(F)
#undef F
}

static tern_manager_t *open_and_acquire(tern_lease_t *lease)
{
    struct cluster_url url = cluster_url("unload");
    tern_options_t options = cluster_options();
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, library.manager_open, TERN_STR(url.text), &options, &manager);
    EXPECT(TERN_OK, library.lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("ann"), TERN_FOREVER, lease);
    return manager;
}

int main(void)
{
    enum { ROUNDS = 5 };
    tern_lease_t lease = 0;
    for (int round = 0; round < ROUNDS; round++) {
        load();
        tern_manager_t *manager = open_and_acquire(&lease);
        EXPECT(TERN_OK, library.lease_release, manager, lease);
        library.manager_close(manager);
        CHECK_EQ(dlclose(library.handle), 0);
    }
    load();
    tern_manager_t *manager = open_and_acquire(&lease);
    CHECK_EQ(dlclose(library.handle), 0);
    EXPECT_TRIT(TERN_HELD, library.lease_state, manager, lease);
    /* It is left to the end of the program. */
    return finish(__FILE__);
}
