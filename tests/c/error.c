/* Errors: filled in whenever the status is not TERN_OK, left alone otherwise, and nobody else's. */
#include "open.h"

#include <errno.h>
#include <pthread.h>

static void check_details(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 5), other = 0;
    tern_error_t made = tern_error_init();
    CHECK_EQ(made.struct_size, sizeof made);
    CHECK(made.status == 0 && made.reason == 0 && made.os_errno == 0 && made.driver_code == 0 && made.message[0] == 0);

    /* A normal outcome that is not success has details too, and nothing of an earlier call is left. */
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("bob"), 5, &other);
    CHECK(err.reason == 0 && err.os_errno == 0 && err.driver_code == 0);

    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_DEVICE_FAULT, TERN_STR("ops"), 0, NULL);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew, manager, lease, NULL);
    CHECK_EQ(err.reason, TERN_REASON_DEVICE_FAULT);
    CHECK(strstr(err.message, "DEVICE_FAULT") != NULL);
    CHECK(err.os_errno == 0 && err.driver_code == 0);

    /* An argument is called by its name. */
    EXPECT(TERN_ERR_NULL, tern_lease_acquire, manager, TERN_STR("gpu0"), NULL, 3, 5, &other);
    CHECK(strstr(err.message, "holder") != NULL);
    CHECK_EQ(err.reason, 0);

    /* A trit has its status in the error only. */
    EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_LEASE, tern_lease_state, manager, 0);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lease);
    tern_manager_close(manager);
}

/* The longest message is cut, at a character, and terminated. */
static void check_long_message(void)
{
    char url[2000] = "";
    tern_manager_t *manager = NULL;
    while (strlen(url) + 2 < sizeof url - 1)
        strcat(url, "\xc3\xa4");
    EXPECT(TERN_ERR_BAD_URL, tern_manager_open, TERN_STR(url), NULL, &manager);
    CHECK(manager == NULL);
    size_t len = strlen(err.message);
    CHECK(len == sizeof err.message - 1 || len == sizeof err.message - 2);
    const char *cut = strchr(err.message, '\xc3');
    CHECK(cut != NULL);
    while (*cut == '\xc3' && cut[1] == '\xa4')
        cut += 2;
    CHECK_EQ(*cut, 0);
}

/* There is no last error that another thread could overwrite. */
static tern_manager_t *shared;

static void *fail_in_one_way(void *way)
{
    tern_error_t err;
    uint64_t number;
    for (int i = 0; i < 500; i++) {
        if (way)
            EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_release, shared, 99);
        else
            EXPECT(TERN_ERR_BAD_VALUE, tern_manager_count, shared, 99, &number);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[4];
    shared = open_ticks(0);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, fail_in_one_way, i % 2 ? shared : NULL), 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    tern_manager_close(shared);
}

/* errno is the caller's: a call that succeeds, or fails for no fault of the system's, need not keep it, but the error does not have it. */
static void check_errno(void)
{
    tern_manager_t *manager = open_ticks(0);
    errno = ENOENT;
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_release, manager, 1);
    CHECK_EQ(err.os_errno, 0);
    tern_manager_close(manager);
}

/* A zeroed error, as `tern_error_t err = { 0 };` makes it, has the size of the first version of the struct. */
static void check_zeroed(void)
{
    tern_manager_t *manager = open_ticks(0);
    struct {
        tern_error_t error;
        unsigned char after[64];
    } zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    CHECK_EQ(tern_lease_release(manager, 1, &zeroed.error), TERN_ERR_UNKNOWN_LEASE);
    CHECK_EQ(zeroed.error.status, TERN_ERR_UNKNOWN_LEASE);
    CHECK(strlen(zeroed.error.message) > 0);
    CHECK_EQ(zeroed.error.struct_size, sizeof(tern_error_t));
    for (size_t i = 0; i < sizeof zeroed.after; i++)
        CHECK_EQ(zeroed.after[i], 0);

    /* A call that succeeds leaves it alone. */
    tern_error_t err = { 0 };
    tern_lease_t lease = 0;
    CHECK_EQ(tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("ann"), 5, &lease, &err), TERN_OK);
    CHECK(err.struct_size == 0 && err.message[0] == 0);
    tern_manager_close(manager);
}

int main(void)
{
    check_details();
    check_zeroed();
    check_long_message();
    check_threads();
    check_errno();
    return finish(__FILE__);
}
