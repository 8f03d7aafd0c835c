/* A table that etcd keeps, opened by a process with too few descriptors, and used under many signals: it works or says what is missing, and nothing is lost. */
#define _GNU_SOURCE
#include "cluster.h"
#include "descriptors.h"
#include "storm.h"

/* What a child ends with whose checks hold. */
enum { WORKED = 10, DID_NOT = 11 };

static int use_with(uint64_t spare)
{
    struct cluster_url url = cluster_url("descriptors");
    /* Who cannot connect tries again for so many seconds. */
    strcat(url.text, "&timeout=1");
    tern_options_t options = cluster_options();
    int32_t status = TERN_OK;
    leave((int)spare);
    for (int i = 0; i < 3; i++) {
        tern_manager_t *manager = NULL;
        err = tern_error_init();
        status = tern_manager_open(TERN_STR(url.text), &options, &manager, &err);
        if (status != TERN_OK && status != TERN_ERR_SYSTEM)
            fprintf(stderr, "    with %d descriptors it says %s\n", (int)spare, err.message);
        CHECK(status == TERN_OK || (err.os_errno == EHOSTUNREACH && strstr(err.message, "Too many open files") && manager == NULL));
        tern_manager_close(manager);
    }
    /* The library keeps what it talks to etcd with; another try needs nothing that the first ones have lost. */
    give_back(ENOUGH);
    tern_manager_close(open_cluster("descriptors"));
    return status == TERN_OK ? WORKED : DID_NOT;
}

/* What is waited for in vain lasts as long as it should, and what comes is not missed. */
static void use_in_a_storm(void)
{
    enum { WAIT = 20000 };
    struct storm storm;
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("bob", &gpu, 1);
    tern_lease_t lease = 0;
    handle_signals();
    begin_storm(&storm);
    tern_manager_t *one = open_cluster("storm"), *other = open_cluster("storm");
    tern_lease_t held = acquire(one, "gpu0", "ann", TERN_FOREVER);
    claim.wait = WAIT;
    EXPECT(TERN_TIMEOUT, tern_manager_claim, other, &claim, &lease);
    tern_ticket_t ticket = enqueue(other, "gpu0", "bob");
    EXPECT(TERN_WAITING, tern_ticket_wait, other, ticket, WAIT, &lease);
    EXPECT(TERN_OK, tern_lease_release, one, held);
    EXPECT(TERN_OK, tern_ticket_wait, other, ticket, TERN_FOREVER, &lease);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, other, lease);
    EXPECT(TERN_OK, tern_lease_release, other, lease);
    tern_manager_close(one);
    tern_manager_close(other);
    end_storm(&storm);
}

int main(void)
{
    int came = DID_NOT;
    for (uint64_t spare = 0; came == DID_NOT; spare++) {
        CHECK(spare < ENOUGH);
        came = in_child(use_with, spare);
        CHECK(came == WORKED || came == DID_NOT);
    }
    use_in_a_storm();
    return finish(__FILE__);
}
