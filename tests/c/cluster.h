/* A table on an etcd that the test was given: scripts/with-etcd says in TERN_TEST_ETCD where it is. */
#ifndef TERN_TESTS_CLUSTER_H
#define TERN_TESTS_CLUSTER_H

#include "child.h"

struct cluster_url {
    char text[256];
};

static inline struct cluster_url cluster_url(const char *name)
{
    struct cluster_url url;
    const char *server = getenv("TERN_TEST_ETCD");
    if (server == NULL)
        fprintf(stderr, "TERN_TEST_ETCD must be the address of an etcd: run this by scripts/with-etcd\n");
    CHECK(server != NULL);
    CHECK(snprintf(url.text, sizeof url.text, "etcd://%s/%s?session_ttl=10", server, name) < (int)sizeof url.text);
    return url;
}

/* Small: each manager has a copy of all of it. */
static inline tern_options_t cluster_options(void)
{
    tern_options_t options = tern_options_init();
    options.leases = options.tickets = options.resources = options.history = 64;
    return options;
}

#ifndef TESTED_WITHOUT_LINKING
#include "open.h"

static inline tern_manager_t *open_cluster(const char *name)
{
    tern_error_t err;
    tern_manager_t *manager = NULL;
    tern_options_t options = cluster_options();
    struct cluster_url url = cluster_url(name);
    EXPECT(TERN_OK, tern_manager_open, TERN_STR(url.text), &options, &manager);
    CHECK(manager != NULL);
    return manager;
}
#endif

#endif
