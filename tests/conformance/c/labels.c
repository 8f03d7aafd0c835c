/* The driver's own names for leases and tickets, the one that was given last at the end. */
#include "driver.h"

struct label {
    char *name;
    tern_lease_t lease;
    tern_ticket_t ticket;
};

static struct label *labels;
static size_t label_count;

static struct label *find(const char *name)
{
    for (size_t i = label_count; i-- > 0;)
        if (strcmp(labels[i].name, name) == 0)
            return &labels[i];
    return NULL;
}

void give_label(const char *name, tern_lease_t lease, tern_ticket_t ticket)
{
    struct label *old = find(name);
    struct label made = { old != NULL ? old->name : strdup(name), lease, ticket };
    if (old != NULL) {
        memmove(old, old + 1, (size_t)(labels + --label_count - old) * sizeof *labels);
    } else {
        struct label *more = realloc(labels, (label_count + 1) * sizeof *labels);
        if (more == NULL || made.name == NULL)
            exit(1);
        labels = more;
    }
    labels[label_count++] = made;
}

void note_grant(tern_ticket_t ticket, tern_lease_t lease)
{
    for (size_t i = 0; ticket != 0 && i < label_count; i++)
        if (labels[i].ticket == ticket)
            labels[i].lease = lease;
}

tern_lease_t lease_of(const char *name)
{
    const struct label *label = find(name);
    return label != NULL ? label->lease : 0;
}

tern_ticket_t ticket_of(const char *name)
{
    const struct label *label = find(name);
    return label != NULL ? label->ticket : 0;
}

void print_lease(tern_lease_t lease)
{
    const char *name = lease == 0 ? "-" : "?";
    for (size_t i = label_count; lease != 0 && i-- > 0;)
        if (labels[i].lease == lease) {
            name = labels[i].name;
            break;
        }
    printf("%s", name);
}

void print_ticket(tern_ticket_t ticket)
{
    const char *name = ticket == 0 ? "-" : "?";
    for (size_t i = label_count; ticket != 0 && i-- > 0;)
        if (labels[i].ticket == ticket) {
            name = labels[i].name;
            break;
        }
    printf("%s", name);
}

void forget_labels(void)
{
    while (label_count > 0)
        free(labels[--label_count].name);
    free(labels);
    labels = NULL;
}
