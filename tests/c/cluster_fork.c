/* A child after fork(), which has none of the threads that talk to etcd: what was opened before is TERN_ERR_FORKED, and it can open its own. */
#include "cluster.h"

#include <pthread.h>

static void check_forked(tern_manager_t *manager, tern_lease_t lease)
{
    tern_trit_t state = TERN_TRIT_UNKNOWN;
    tern_lease_t other = 0;
    EXPECT(TERN_ERR_FORKED, tern_lease_states, manager, &lease, 1, &state);
    EXPECT_UNKNOWN(TERN_ERR_FORKED, tern_lease_state, manager, lease);
    EXPECT(TERN_ERR_FORKED, tern_lease_renew, manager, lease, NULL);
    EXPECT(TERN_ERR_FORKED, tern_lease_renew_for, manager, lease, TERN_SECOND, NULL);
    EXPECT(TERN_ERR_FORKED, tern_lease_renew_all, manager, &lease, 1, NULL);
    EXPECT(TERN_ERR_FORKED, tern_lease_release, manager, lease);
    EXPECT(TERN_ERR_FORKED, tern_lease_acquire, manager, TERN_STR("gpu1"), TERN_STR("child"), TERN_FOREVER, &other);
}

/* In a child whose parent has other threads, only what the library itself does is safe: so it looks for faults in nothing else. */
static void use_own(tern_lease_t of_parent)
{
    tern_manager_t *own = open_cluster("fork");
    tern_lease_t lease = 0;
    EXPECT_TRIT(TERN_HELD, tern_lease_state, own, of_parent);
    EXPECT(TERN_BUSY, tern_lease_acquire, own, TERN_STR("gpu0"), TERN_STR("child"), TERN_FOREVER, &lease);
    lease = acquire(own, "gpu1", "child", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_release, own, lease);
    tern_manager_close(own);
}

static void check_child(void)
{
    tern_manager_t *manager = open_cluster("fork");
    tern_lease_t lease = acquire(manager, "gpu0", "parent", TERN_FOREVER);
    pid_t child = start_child();
    if (child == 0) {
        check_forked(manager, lease);
        use_own(lease);
        pid_t grandchild = start_child();
        if (grandchild == 0) {
            check_forked(manager, lease);
            use_own(lease);
            _exit(0);
        }
        CHECK_EQ(end_of(grandchild), 0);
        tern_manager_close(manager);
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);
    /* The parent did not notice. */
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    tern_manager_close(manager);
}

struct user {
    tern_manager_t *manager;
    int stop;
};

static void *use_all_the_time(void *argument)
{
    struct user *user = argument;
    while (!__atomic_load_n(&user->stop, __ATOMIC_RELAXED)) {
        tern_lease_t lease = 0;
        if (tern_lease_acquire(user->manager, TERN_STR("gpu2"), TERN_STR("user"), TERN_FOREVER, &lease, NULL) == TERN_OK)
            tern_lease_release(user->manager, lease, NULL);
    }
    return NULL;
}

/* Forking while others wait for etcd: whatever lock they hold is held for ever in the child, which must not touch it, not even to close. */
static void check_busy_forks(void)
{
    enum { FORKS = 50 };
    struct user user = { open_cluster("busy"), 0 };
    tern_lease_t lease = acquire(user.manager, "gpu0", "parent", TERN_FOREVER);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, use_all_the_time, &user), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = start_child();
        if (child == 0) {
            check_forked(user.manager, lease);
            tern_manager_close(user.manager);
            _exit(0);
        }
        CHECK_EQ(end_of(child), 0);
    }
    __atomic_store_n(&user.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, user.manager, lease);
    tern_manager_close(user.manager);
}

int main(void)
{
    check_child();
    check_busy_forks();
    return finish(__FILE__);
}
