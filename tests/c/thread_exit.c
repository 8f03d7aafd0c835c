/* A thread that is ending can still wait: its destructors run when much of what belongs to a thread is gone. */
#include "open.h"

#include <pthread.h>

static tern_manager_t *manager;
static tern_ticket_t ticket;
static pthread_key_t key;
static int32_t status_at_exit = TERN_OK;

static void wait_at_exit(void *unused)
{
    (void)unused;
    tern_lease_t lease;
    status_at_exit = tern_ticket_wait(manager, ticket, 1000, &lease, NULL);
}

static void *wait_and_end(void *unused)
{
    (void)unused;
    tern_lease_t lease;
    pthread_setspecific(key, &key);
    /* Long enough to sleep even on a busy machine: what a thread first uses after its end is never freed. */
    tern_ticket_wait(manager, ticket, 200 * TERN_MILLISECOND, &lease, NULL);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_key_create(&key, wait_at_exit), 0);
    manager = open_real();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    ticket = enqueue(manager, "gpu0", "bob");
    CHECK_EQ(pthread_create(&thread, NULL, wait_and_end, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(status_at_exit, TERN_WAITING);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, NULL);
    tern_manager_close(manager);
    return finish(__FILE__);
}
