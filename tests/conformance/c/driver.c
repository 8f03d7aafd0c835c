/* The driver in C: does what lines on its standard input say, and answers each with a line. See ../README.md. */
#include "driver.h"

struct world world;

static bool run_version(struct step *step)
{
    (void)step;
    printf("OK %s", tern_version_text());
    return true;
}

static bool run_status(struct step *step)
{
    int32_t status;
    if (!next_integer(step, &status))
        return false;
    const char *name = tern_status_name(status);
    printf("OK %s", strcmp(name, "TERN_STATUS_UNKNOWN") == 0 ? "-" : name);
    return true;
}

static bool run_reason(struct step *step)
{
    static const char *const classes[] = { "",         "CONTENTION", "LIMIT", "CONDUCT",
                                           "RESOURCE", "AUTHORITY",  "ENDED", "REFUSED" };
    int32_t reason;
    if (!next_integer(step, &reason))
        return false;
    int32_t class = tern_reason_class(reason);
    if (class == 0)
        printf("OK -");
    else
        printf("OK %s %s", tern_reason_name(reason), classes[class]);
    return true;
}

static const struct verb library_verbs[] = {
    { "version", NOTHING, run_version },
    { "status", NOTHING, run_status },
    { "reason", NOTHING, run_reason },
    { NULL, NOTHING, NULL },
};

static bool is_there(enum need need)
{
    return need == NOTHING || (need == A_MANAGER && world.manager != NULL) || (need == A_POOL && world.pool != NULL) ||
           (need == A_MACHINE && world.machine != NULL);
}

/* Does a step; whether it made sense. */
static bool run(struct step *step)
{
    const struct verb *const all[] = { library_verbs, table_verbs, lease_verbs, look_verbs,
                                       watch_verbs,   pool_verbs,  cost_verbs };
    const char *name = next_word(step);
    if (name == NULL)
        return false;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (const struct verb *verb = all[i]; verb->name != NULL; verb++)
            if (strcmp(verb->name, name) == 0)
                return is_there(verb->need) && verb->run(step);
    return false;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    world.err = tern_error_init();
    if (tern_abi_check(TERN_VERSION_NUMBER, &world.err) != TERN_OK) {
        fprintf(stderr, "%s\n", world.err.message);
        return 1;
    }
    while ((length = getline(&line, &room, stdin)) != -1) {
        if (length > 0 && line[length - 1] == '\n')
            line[length - 1] = '\0';
        struct step step = { line };
        printf(run(&step) ? "\n" : "?\n");
        fflush(stdout);
    }
    close_table();
    tern_machine_close(world.machine);
    forget_labels();
    free(line);
    return 0;
}
