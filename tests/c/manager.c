/* Manager: opening, options, ticks, closing. */
#include "open.h"

static void check_open(void)
{
    tern_options_t made = tern_options_init();
    CHECK(made.struct_size == sizeof made && made.flags == 0);
    CHECK(made.leases == 0 && made.tickets == 0 && made.resources == 0 && made.history == 0);

    /* Each is a table of its own. */
    tern_manager_t *one = open_real(), *two = open_real();
    CHECK(one != two);
    acquire(one, "gpu0", "ann", TERN_FOREVER);
    acquire(two, "gpu0", "bob", TERN_FOREVER);
    CHECK(active_count(one) == 1 && active_count(two) == 1);
    tern_manager_close(one);
    CHECK_EQ(active_count(two), 1);
    tern_manager_close(two);

    /* Text need not be terminated. */
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_manager_open, "process:and more", 8, NULL, &manager);
    tern_manager_close(manager);

    const char *urls[] = { ":", "process", "process:x", "Process:", "host:a/b", "host:.", "file:///", "x" };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        manager = NULL;
        EXPECT(TERN_ERR_BAD_URL, tern_manager_open, TERN_STR(urls[i]), NULL, &manager);
        CHECK(manager == NULL);
    }
}

/* Without a URL, it is the table that all processes of this machine share. */
static void check_without_url(void)
{
    tern_manager_t *unnamed = NULL, *named = NULL;
    EXPECT(TERN_OK, tern_manager_open, NULL, 0, NULL, &unnamed);
    EXPECT(TERN_OK, tern_manager_open, TERN_STR("host:"), NULL, &named);
    tern_host_info_t one = tern_host_info_init(), other = tern_host_info_init();
    EXPECT(TERN_OK, tern_manager_host, unnamed, &one);
    EXPECT(TERN_OK, tern_manager_host, named, &other);
    CHECK(one.path[0] == '/' && strcmp(one.path, other.path) == 0);
    tern_manager_close(unnamed);
    tern_manager_close(named);
}

static void check_ticks(void)
{
    tern_manager_t *manager = open_ticks(0);
    CHECK_EQ(tick_count(manager), 0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 3);
    tick(manager, 2);
    CHECK_EQ(tick_count(manager), 2);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tick(manager, 1);
    CHECK_EQ(tick_count(manager), 3);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lease);
    CHECK_EQ(active_count(manager), 0);
    tern_manager_close(manager);
}

static void check_open_house(void)
{
    tern_manager_t *manager = open_ticks(TERN_OPTION_OPEN_HOUSE);
    acquire(manager, "gpu0", "ann", 9);
    acquire(manager, "gpu0", "bob", 9);
    CHECK_EQ(active_count(manager), 2);

    /* Who holds b is taken to want the resource that bears its own name. */
    acquire(manager, "b", "a", 9);
    acquire(manager, "a", "b", 9);
    tern_deadlocks_t *found = NULL;
    size_t count = 0;
    EXPECT(TERN_OK, tern_deadlocks_find, manager, &found, &count);
    CHECK_EQ(count, 1);
    tern_deadlocks_close(found);
    tern_manager_close(manager);
}

static void make_deadlock(tern_manager_t *manager)
{
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    acquire(manager, "gpu1", "bob", TERN_FOREVER);
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("ann"), TERN_STR("gpu1"));
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("bob"), TERN_STR("gpu0"));
}

static void check_break_deadlocks(void)
{
    tern_manager_t *manager = open_ticks(0);
    make_deadlock(manager);
    CHECK(active_count(manager) == 2 && revocations(manager) == 0);
    tern_manager_close(manager);

    manager = open_ticks(TERN_OPTION_BREAK_DEADLOCKS);
    make_deadlock(manager);
    CHECK(active_count(manager) == 1 && revocations(manager) == 1);
    CHECK_EQ(count_of(manager, TERN_REASON_DEADLOCK_VICTIM), 1);
    tern_manager_close(manager);
}

int main(void)
{
    check_open();
    check_without_url();
    check_ticks();
    check_open_house();
    check_break_deadlocks();
    return finish(__FILE__);
}
