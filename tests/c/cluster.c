/* Cluster: a table on etcd. What one manager does the others see, as if they were on other machines. */
#include "cluster.h"

static void await_state(const tern_manager_t *manager, tern_lease_t lease, tern_trit_t state)
{
    while (tern_lease_state(manager, lease, NULL) != state)
        ;
}

static void check_shared(void)
{
    tern_manager_t *one = open_cluster("shared"), *other = open_cluster("shared");
    tern_lease_t lease = acquire(one, "gpu0", "ann", TERN_FOREVER), next = 0;
    EXPECT_TRIT(TERN_HELD, tern_lease_state, one, lease);
    EXPECT(TERN_BUSY, tern_lease_acquire, other, TERN_STR("gpu0"), TERN_STR("bob"), TERN_FOREVER, &next);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, other, lease);
    CHECK_EQ(active_count(other), 1);

    tern_ticket_t ticket = enqueue(other, "gpu0", "bob");
    EXPECT(TERN_OK, tern_lease_release, one, lease);
    EXPECT(TERN_OK, tern_ticket_wait, other, ticket, TERN_FOREVER, &next);
    CHECK(next > lease);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, other, next);
    await_state(one, next, TERN_HELD);

    EXPECT(TERN_OK, tern_lease_revoke, one, next, TERN_REASON_OPERATOR, TERN_STR("ops"), 0, NULL);
    await_state(other, next, TERN_REVOKED);
    tern_manager_close(one);
    tern_manager_close(other);
}

/* Whoever leaves gives back what it has. */
static void check_closed(void)
{
    tern_manager_t *one = open_cluster("closed"), *other = open_cluster("closed");
    tern_lease_t lease = acquire(one, "gpu0", "ann", TERN_FOREVER), next = 0;
    tern_ticket_t ticket = enqueue(other, "gpu0", "bob");
    tern_manager_close(one);
    EXPECT(TERN_OK, tern_ticket_wait, other, ticket, TERN_FOREVER, &next);
    CHECK(next > lease);
    tern_manager_close(other);
}

/* What is wrong with a URL is told, but no part of it that may be a password. */
static void check_urls(void)
{
    const char *urls[] = { "etcd:", "etcd://", "etcd://me:secret@/x", "etcd://me:secret@a:b/x", "etcd://me:secret@a:1/x?secret=1" };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        tern_manager_t *manager = NULL;
        EXPECT(TERN_ERR_BAD_URL, tern_manager_open, TERN_STR(urls[i]), NULL, &manager);
        CHECK(manager == NULL && strstr(err.message, ":secret") == NULL);
    }
}

int main(void)
{
    check_shared();
    check_closed();
    check_urls();
    return finish(__FILE__);
}
