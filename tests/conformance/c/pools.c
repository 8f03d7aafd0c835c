/* Pools: devices, and claims for them. */
#include "driver.h"

#include <inttypes.h>

static const char *const vendors[] = { "any", "nvidia", "amd", "intel", "other" };

static bool run_pool(struct step *step)
{
    tern_pool_options_t options = tern_pool_options_init();
    for (char *word; (word = next_word(step)) != NULL;)
        if (value_of(word, "devices") != NULL) {
            options.devices = value_of(word, "devices");
            options.devices_len = strlen(options.devices);
        } else if (!is_u32(word, "slots", &options.slots)) {
            return false;
        }
    tern_pool_close(world.pool);
    world.pool = NULL;
    return answered(tern_pool_on(world.manager, &options, &world.pool, &world.err));
}

static bool run_capacity(struct step *step)
{
    uint64_t count = 0;
    (void)step;
    if (answer(tern_pool_capacity(world.pool, &count, &world.err)))
        printf(" %" PRIu64, count);
    return true;
}

static bool run_pending(struct step *step)
{
    uint64_t count = 0;
    (void)step;
    if (answer(tern_pool_pending_claimers(world.pool, &count, &world.err)))
        printf(" %" PRIu64, count);
    return true;
}

static bool run_try(struct step *step)
{
    const char *label = next_word(step);
    tern_lease_t lease = 0;
    if (label == NULL)
        return false;
    if (answer(tern_pool_try_claim(world.pool, &lease, &world.err)))
        give_label(label, lease, 0);
    return true;
}

static bool is_vendor(char *word, int32_t *vendor)
{
    const char *value = value_of(word, "vendor");
    if (value != NULL)
        for (*vendor = 0; *vendor < 5; ++*vendor)
            if (strcmp(vendors[*vendor], value) == 0)
                return true;
    return false;
}

/* What a claim for devices says; whether it makes sense. Refers to the words of the step. */
static bool read_claim(struct step *step, tern_gpu_claim_t *claim)
{
    static struct list devices;
    struct wants wants = { 0, 0, 0, 0, 0, 0, 0, 0 };
    *claim = tern_gpu_claim_init();
    devices.count = 0;
    for (char *word; (word = next_word(step)) != NULL;)
        if (value_of(word, "holder") != NULL) {
            claim->holder = value_of(word, "holder");
            claim->holder_len = strlen(claim->holder);
        } else if (value_of(word, "devices") != NULL) {
            if (!split(value_of(word, "devices"), &devices))
                return false;
        } else if (!is_u64(word, "ttl", &claim->ttl) && !is_u32(word, "min-memory", &claim->min_memory_mib) &&
                   !is_vendor(word, &claim->vendor) && !is_want(word, &wants)) {
            return false;
        }
    /* Devices have no such claims: alone is what is usual. */
    if (wants.flags & (TERN_CLAIM_EXCLUSIVE | TERN_CLAIM_SHARED))
        return false;
    claim->devices = devices.texts;
    claim->device_count = devices.count;
    claim->count = wants.count;
    claim->slots = wants.slots;
    claim->memory_mib = wants.memory_mib;
    claim->priority = wants.priority;
    claim->notice = wants.notice;
    claim->wait = wants.wait;
    claim->flags = wants.flags;
    claim->parent = wants.parent;
    return true;
}

static bool run_gpu(struct step *step)
{
    const char *label = next_word(step);
    tern_gpu_claim_t claim;
    tern_lease_t lease = 0;
    if (label == NULL || !read_claim(step, &claim))
        return false;
    if (answer(tern_pool_claim(world.pool, &claim, &lease, &world.err)))
        give_label(label, lease, 0);
    return true;
}

static bool run_gpu_enqueue(struct step *step)
{
    const char *label = next_word(step);
    tern_gpu_claim_t claim;
    tern_lease_t lease = 0;
    tern_ticket_t ticket = 0;
    if (label == NULL || !read_claim(step, &claim))
        return false;
    tern_status_t status = tern_pool_enqueue(world.pool, &claim, &lease, &ticket, &world.err);
    if (answer(status) || status == TERN_WAITING)
        give_label(label, lease, ticket);
    return true;
}

static bool run_expected(struct step *step)
{
    tern_gpu_claim_t claim;
    int32_t wait = 0;
    uint64_t wait_ns = 0;
    if (!read_claim(step, &claim))
        return false;
    if (!answer(tern_pool_expected_wait(world.pool, &claim, &wait, &wait_ns, &world.err)))
        return true;
    switch (wait) {
    case TERN_EXPECTED_WAIT_NONE:
        printf(" none");
        break;
    case TERN_EXPECTED_WAIT_ABOUT:
        printf(" about ");
        print_number(wait_ns);
        break;
    case TERN_EXPECTED_WAIT_NO_DEVICES:
        printf(" no-devices");
        break;
    default:
        printf(" unknown");
    }
    return true;
}

static bool run_gpu_release(struct step *step)
{
    const char *label = next_word(step);
    return label != NULL && answered(tern_gpu_lease_release(world.pool, lease_of(label), &world.err));
}

static bool run_devices(struct step *step)
{
    const char *label = next_word(step);
    size_t places[LONGEST_LIST], count = 0;
    if (label == NULL)
        return false;
    if (answer(tern_gpu_lease_devices(world.pool, lease_of(label), places, LONGEST_LIST, &count, &world.err)))
        for (size_t i = 0; i < count; i++)
            printf(" %zu", places[i]);
    return true;
}

static bool run_env(struct step *step)
{
    const char *label = next_word(step), *option = next_word(step);
    char lines[8192];
    if (label == NULL || (option != NULL && strcmp(option, "uuid") != 0))
        return false;
    if (!answer(tern_gpu_lease_env(world.pool, lease_of(label), option != NULL ? TERN_ENV_BY_UUID : 0, lines,
                                   sizeof lines, NULL, &world.err)))
        return true;
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n"))
        printf(" %s", line);
    return true;
}

static bool run_device(struct step *step)
{
    tern_device_t device = tern_device_init();
    uint64_t place;
    if (!next_number(step, SIZE_MAX, &place))
        return false;
    if (!answer(tern_pool_device(world.pool, (size_t)place, &device, &world.err)))
        return true;
    printf(" key=%s vendor=%s index=%" PRIu32 " memory=", device.key,
           device.vendor >= 0 && device.vendor < 5 ? vendors[device.vendor] : "?", device.index);
    if (device.known & TERN_DEVICE_MEMORY)
        printf("%" PRIu32, device.memory_mib);
    else
        printf("-");
    printf(" uuid=");
    print_text(device.uuid);
    printf(" pci=");
    print_text(device.pci);
    return true;
}

static bool run_snapshot(struct step *step)
{
    static tern_device_status_t statuses[LONGEST_LIST];
    size_t count = 0;
    (void)step;
    statuses[0] = tern_device_status_init();
    if (!answer(tern_pool_snapshot(world.pool, statuses, LONGEST_LIST, &count, &world.err)))
        return true;
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++) {
        printf(" %zu:", i);
        print_trit(statuses[i].health);
        printf(":");
        print_lease(statuses[i].lease);
    }
    return true;
}

const struct verb pool_verbs[] = {
    { "pool", A_MANAGER, run_pool },
    { "capacity", A_POOL, run_capacity },
    { "pending", A_POOL, run_pending },
    { "try", A_POOL, run_try },
    { "gpu", A_POOL, run_gpu },
    { "gpu-enqueue", A_POOL, run_gpu_enqueue },
    { "expected", A_POOL, run_expected },
    { "gpu-release", A_POOL, run_gpu_release },
    { "devices", A_POOL, run_devices },
    { "env", A_POOL, run_env },
    { "device", A_POOL, run_device },
    { "snapshot", A_POOL, run_snapshot },
    { NULL, NOTHING, NULL },
};
