/* Every text that goes in: not UTF-8, too long, empty, at the end of what can be read. And the longest names on their way out. */
#include "calls.h"

#include <fcntl.h>
#include <sys/mman.h>

static const struct argument {
    const char *name;
    size_t data, len;
    /* What an empty one gives, and one that is too long. */
    int32_t empty, too_long;
    size_t longest;
} arguments[] = {
#define ARGUMENT(name, data, len, empty) \
    { name, offsetof(struct world, data), offsetof(struct world, len), empty, TERN_ERR_NAME_TOO_LONG, TERN_NAME_MAX }
    { "tern_manager_open", offsetof(struct world, url), offsetof(struct world, url_len), TERN_ERR_BAD_URL, TERN_ERR_BAD_URL, 4096 },
    ARGUMENT("tern_manager_want", holder, holder_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_want", resource, resource_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_unwant", holder, holder_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_unwant", resource, resource_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_resource_declare", resource, resource_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_resource_set_health", resource, resource_len, TERN_ERR_UNKNOWN_RESOURCE),
    ARGUMENT("tern_resource_info", resource, resource_len, TERN_ERR_UNKNOWN_RESOURCE),
    ARGUMENT("tern_resource_leases", resource, resource_len, TERN_OK),
    ARGUMENT("tern_lease_acquire", resource, resource_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_lease_acquire", holder, holder_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_lease_revoke", by, by_len, TERN_OK),
    ARGUMENT("tern_manager_held_by", holder, holder_len, TERN_OK),
    ARGUMENT("tern_manager_claim", claim.holder, claim.holder_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_claim", texts[0].data, texts[0].len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_claim", texts[1].data, texts[1].len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_enqueue", claim.holder, claim.holder_len, TERN_ERR_EMPTY_NAME),
    ARGUMENT("tern_manager_enqueue", texts[1].data, texts[1].len, TERN_ERR_EMPTY_NAME),
    { "tern_pool_open", offsetof(struct world, url), offsetof(struct world, url_len), TERN_OK, TERN_ERR_BAD_URL, 4096 },
    /* Which devices: if nothing is said, the environment is asked. */
    { "tern_pool_open", offsetof(struct world, pool_options.devices), offsetof(struct world, pool_options.devices_len), TERN_OK,
      TERN_ERR_BAD_VALUE, 4096 },
    { "tern_pool_on", offsetof(struct world, pool_options.devices), offsetof(struct world, pool_options.devices_len), TERN_OK,
      TERN_ERR_BAD_VALUE, 4096 },
    ARGUMENT("tern_pool_claim", gpu_claim.holder, gpu_claim.holder_len, TERN_OK),
    ARGUMENT("tern_pool_claim", device_names[0].data, device_names[0].len, TERN_ERR_UNKNOWN_RESOURCE),
    ARGUMENT("tern_pool_enqueue", gpu_claim.holder, gpu_claim.holder_len, TERN_OK),
    ARGUMENT("tern_pool_enqueue", device_names[1].data, device_names[1].len, TERN_ERR_UNKNOWN_RESOURCE),
    ARGUMENT("tern_pool_expected_wait", gpu_claim.holder, gpu_claim.holder_len, TERN_OK),
    ARGUMENT("tern_machine_advise", device_names[1].data, device_names[1].len, TERN_ERR_UNKNOWN_RESOURCE),
    /* Paths: nothing leads nowhere, and without a name the usual file is meant. */
    { "tern_machine_read", offsetof(struct world, store), offsetof(struct world, store_len), TERN_ERR_SYSTEM, TERN_ERR_BAD_VALUE, 4096 },
    { "tern_machine_read", offsetof(struct world, machine_options.cache_file), offsetof(struct world, machine_options.cache_file_len),
      TERN_OK, TERN_ERR_BAD_VALUE, 4096 },
#undef ARGUMENT
};

static const char *const not_utf8[] = {
    /* Longer than need be. */
    "\xc0\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xf0\x80\x80\x80",
    /* Cut short. */
    "\xc3", "\xe2\x82", "\xf0\x9f\x98", "gpu0\xc3", "\xc3(", "\xe2(\xa1", "\xe2\x82(", "gpu\xf0\x28\x8c\xbc",
    /* The middle of a character without its beginning. */
    "\x80", "\xbf",
    /* Half of a pair, and beyond the last character. */
    "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
    /* Never a part of any. */
    "\xfe", "\xff", "\xf8\x88\x80\x80\x80", "\xffgpu0", "gpu\xc3\xa4\xff",
};

static const struct call *call_of(const struct argument *argument)
{
    const struct call *call = calls;
    while (strcmp(call->name, argument->name) != 0)
        call++;
    return call;
}

/* Ends where the memory ends: reading one byte more ends the program. */
static char *end_of_memory;

static void make_end_of_memory(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int zero = open("/dev/zero", O_RDWR);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    CHECK(zero >= 0 && pages != MAP_FAILED && page >= 4096);
    CHECK_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
    CHECK_EQ(close(zero), 0);
    end_of_memory = pages + 2 * page;
}

static const char *at_end(const char *text, size_t len)
{
    return memcpy(end_of_memory - len, text, len);
}

static void give(struct world *world, const struct argument *argument, const char *data, size_t len)
{
    memcpy((char *)world + argument->data, &data, sizeof data);
    memcpy((char *)world + argument->len, &len, sizeof len);
}

static void check_argument(const struct argument *argument)
{
    const struct call *call = call_of(argument);
    char name[4096];
    struct world world;
    world_open(&world);

    for (size_t i = 0; i < sizeof not_utf8 / sizeof not_utf8[0]; i++) {
        size_t len = strlen(not_utf8[i]);
        give(&world, argument, at_end(not_utf8[i], len), len);
        check_refused(call, &world, TERN_ERR_BAD_TEXT);
        /* At the end of the longest. */
        memset(name, 'x', sizeof name);
        memcpy(name + argument->longest - len, not_utf8[i], len);
        give(&world, argument, at_end(name, argument->longest), argument->longest);
        check_refused(call, &world, TERN_ERR_BAD_TEXT);
    }

    /* A zero byte would cut a name off on its way back. No URL has one either, and nothing that says which devices. */
    const struct {
        const char *text;
        size_t len;
    } with_zeros[] = { { "", 1 }, { "gpu0", 5 }, { "\0gpu0", 5 }, { "gp\0u0", 5 }, { "\xc3\xa4\0", 3 } };
    for (size_t i = 0; i < sizeof with_zeros / sizeof with_zeros[0]; i++) {
        give(&world, argument, at_end(with_zeros[i].text, with_zeros[i].len), with_zeros[i].len);
        check_refused(call, &world, argument->longest == TERN_NAME_MAX ? TERN_ERR_BAD_TEXT : argument->too_long);
    }

    /* What is too long is not even read. */
    const size_t too_long[] = { argument->longest + 1, 65536, (size_t)INT64_MAX, (size_t)INT64_MAX + 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof too_long / sizeof too_long[0]; i++) {
        give(&world, argument, at_end("x", 1), too_long[i]);
        check_refused(call, &world, argument->too_long);
        give(&world, argument, end_of_memory, too_long[i]);
        check_refused(call, &world, argument->too_long);
    }
    give(&world, argument, NULL, 1);
    check_refused(call, &world, TERN_ERR_NULL);
    world_close(&world);

    /* Nothing, with a pointer or without, even one that cannot be read. */
    const char *const nothing[] = { "", NULL, end_of_memory };
    for (size_t i = 0; i < 3; i++) {
        world_open(&world);
        give(&world, argument, nothing[i], 0);
        if (argument->empty == TERN_OK)
            check_call(call, &world, call->run(&world), TERN_OK);
        else
            check_refused(call, &world, argument->empty);
        world_close(&world);
    }
}

/* Names of every length are what they are, to the last byte. */
static void check_lengths(void)
{
    tern_manager_t *manager = open_ticks(0);
    for (size_t len = 1; len <= TERN_NAME_MAX; len++) {
        char resource[256] = "", holder[256] = "", by[256] = "";
        tern_lease_info_t info = tern_lease_info_init();
        tern_take_t take = tern_take_init();
        tern_lease_t lease = 0;
        memset(resource, 'r', len);
        memset(holder, 'h', len);
        memset(by, 'b', len);
        EXPECT(TERN_OK, tern_lease_acquire, manager, at_end(resource, len), len, holder, len, 9, &lease);
        EXPECT(TERN_OK, tern_lease_revoke, manager, lease, 0, at_end(by, len), len, 0, NULL);
        EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
        EXPECT(TERN_OK, tern_lease_takes, manager, lease, &take, 1, NULL);
        CHECK_TEXT(info.holder, holder);
        CHECK_TEXT(info.revoker, by);
        CHECK_TEXT(take.resource, resource);
    }
    tern_manager_close(manager);
}

/* The longest names, of characters of one to four bytes, wherever a name is told. */
static void check_longest(const char *character)
{
    char first[256] = "1", second[256] = "2";
    while (strlen(first) + strlen(character) <= TERN_NAME_MAX) {
        strcat(first, character);
        strcat(second, character);
    }
    tern_manager_t *manager = open_ticks(0);
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR(first), 1, 0, NULL);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR(second), 1, 0, NULL);
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR(first), TERN_DRAINING);
    EXPECT(TERN_OK, tern_events_next, events, &event);
    CHECK_TEXT(event.resource, first);
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR(first), TERN_HEALTHY);

    /* Each holds what bears its own name, and waits for the other's. */
    acquire(manager, first, first, TERN_FOREVER);
    acquire(manager, second, second, TERN_FOREVER);
    tern_ticket_t ticket = enqueue(manager, second, first);
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR(second), TERN_STR(first));
    tern_ticket_info_t info = tern_ticket_info_init();
    tern_name_t names[2] = { tern_name_init(), tern_name_init() };
    tern_wait_t waits[2] = { tern_wait_init(), tern_wait_init() };
    EXPECT(TERN_OK, tern_ticket_info, manager, ticket, &info);
    CHECK_TEXT(info.holder, first);
    EXPECT(TERN_OK, tern_ticket_resources, manager, ticket, names, 1, NULL);
    CHECK_TEXT(names[0].text, second);
    tern_deadlocks_t *found = NULL;
    EXPECT(TERN_OK, tern_deadlocks_find, manager, &found, NULL);
    EXPECT(TERN_OK, tern_deadlocks_stuck, found, 0, names, 2, NULL);
    CHECK_TEXT(names[0].text, first);
    CHECK_TEXT(names[1].text, second);
    EXPECT(TERN_OK, tern_deadlocks_cycle, found, 0, waits, 2, NULL);
    CHECK_TEXT(waits[0].worker, waits[0].ticket ? first : second);
    CHECK_TEXT(waits[1].worker, waits[1].ticket ? first : second);
    tern_deadlocks_close(found);
    tern_events_close(events);
    tern_manager_close(manager);
}

int main(void)
{
    make_end_of_memory();
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
        check_argument(&arguments[i]);
    check_lengths();
    check_longest("x");
    check_longest("\xc3\xa4");
    check_longest("\xe2\x82\xac");
    check_longest("\xf0\x9f\x98\x80");
    return finish(__FILE__);
}
