/* What happens: events, and leases that are watched. */
#include "driver.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

static void print_event(const tern_event_t *event)
{
    switch (event->kind) {
    case TERN_EVENT_GRANTED:
        printf("granted ");
        print_lease(event->lease);
        if (event->ticket != 0) {
            printf(" ");
            print_ticket(event->ticket);
        }
        break;
    case TERN_EVENT_RENEWED_LATE:
        printf("renewed-late ");
        print_lease(event->lease);
        printf(" ");
        print_number(event->until);
        break;
    case TERN_EVENT_REVOKING:
        printf("revoking ");
        print_lease(event->lease);
        printf(" %s ", tern_reason_name(event->reason));
        print_number(event->until);
        break;
    case TERN_EVENT_ENDED:
        printf("ended ");
        print_lease(event->lease);
        printf(" %s %" PRIu64, tern_reason_name(event->reason), event->duration);
        break;
    case TERN_EVENT_QUEUED:
        printf("queued ");
        print_ticket(event->ticket);
        break;
    case TERN_EVENT_REFUSED:
        printf("refused ");
        print_ticket(event->ticket);
        printf(" %s %" PRIu64, tern_reason_name(event->reason), event->duration);
        break;
    case TERN_EVENT_HEALTH:
        printf("health %s ", event->resource);
        print_trit(event->health);
        break;
    case TERN_EVENT_DIED:
        printf("died");
        break;
    case TERN_EVENT_ROLLED_BACK:
        printf("rolled-back");
        break;
    default:
        printf("?");
    }
}

static bool run_events(struct step *step)
{
    (void)step;
    if (world.events == NULL) {
        if (answer(tern_events_open(world.manager, TERN_FOREVER, &world.events, &world.err)))
            printf(" -");
        return true;
    }
    tern_event_t event = tern_event_init();
    tern_status_t status = tern_events_next(world.events, &event, &world.err);
    if (status != TERN_OK && status != TERN_EMPTY)
        return answered(status);
    printf(status == TERN_EMPTY ? "OK -" : "OK");
    for (const char *between = " "; status == TERN_OK; between = "; ") {
        printf("%s", between);
        print_event(&event);
        status = tern_events_next(world.events, &event, &world.err);
    }
    return true;
}

/* What a watch said. */
struct notice {
    tern_trit_t state;
    int32_t reason;
};

/* The library calls from a thread of its own: what it says comes here through a pipe. */
static struct watch {
    char *label;
    int from;
    struct watch *older;
} *watches;

static void on_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    struct notice told;
    (void)lease;
    (void)at;
    memset(&told, 0, sizeof told);
    told.state = state;
    told.reason = reason;
    /* So short that a pipe takes it whole. */
    if (write(*(int *)user, &told, sizeof told) != sizeof told)
        abort();
}

static void end_watch(void *user)
{
    close(*(int *)user);
    free(user);
}

static void close_newest_watch(void)
{
    struct watch *watch = watches;
    watches = watch->older;
    close(watch->from);
    free(watch->label);
    free(watch);
}

void close_watches(void)
{
    while (watches != NULL)
        close_newest_watch();
}

static bool run_watch(struct step *step)
{
    const char *label = next_word(step);
    int ends[2];
    if (label == NULL)
        return false;
    int *to = malloc(sizeof *to);
    struct watch *watch = malloc(sizeof *watch);
    if (to == NULL || watch == NULL || pipe(ends) != 0)
        exit(1);
    *to = ends[1];
    *watch = (struct watch){ strdup(label), ends[0], watches };
    watches = watch;
    if (!answer(tern_lease_watch(world.manager, lease_of(label), on_notice, to, end_watch, &world.err))) {
        end_watch(to);
        close_newest_watch();
    }
    return true;
}

static bool run_notice(struct step *step)
{
    const char *label = next_word(step);
    uint64_t limit_us;
    if (!next_milliseconds(step, &limit_us))
        return false;
    const struct watch *watch = watches;
    while (watch != NULL && strcmp(watch->label, label) != 0)
        watch = watch->older;
    if (watch == NULL)
        return false;
    uint64_t limit_ms = limit_us / TERN_MILLISECOND;
    struct pollfd readable = { watch->from, POLLIN, 0 };
    struct notice told;
    poll(&readable, 1, limit_us == TERN_FOREVER ? -1 : limit_ms > INT_MAX ? INT_MAX : (int)limit_ms);
    /* The end of the pipe is that of the watch: nothing comes any more. */
    if (!(readable.revents & POLLIN) || read(watch->from, &told, sizeof told) != sizeof told) {
        printf("TIMEOUT");
        return true;
    }
    printf("OK ");
    print_trit(told.state);
    printf(" %s", tern_reason_name(told.reason));
    return true;
}

const struct verb watch_verbs[] = {
    { "events", A_MANAGER, run_events },
    { "watch", A_MANAGER, run_watch },
    { "notice", A_MANAGER, run_notice },
    { NULL, NOTHING, NULL },
};
