/* What the parts of the driver share: the words of a step, labels, answers, and what is open. */
#ifndef DRIVER_H
#define DRIVER_H

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ternlease.h>

/* Lists that are longer are answered MORE, or ? in a step. */
enum { LONGEST_LIST = 1024 };

/* What is open, and the details of the last status. */
extern struct world {
    tern_manager_t *manager;
    tern_pool_t *pool;
    tern_events_t *events;
    tern_machine_t *machine;
    tern_error_t err;
} world;

/* ---- words.c: what a step says */

/* What is left of a step. */
struct step {
    char *rest;
};

/* The next word, or NULL. */
char *next_word(struct step *step);

/* The next word as a number of at most `most`. "forever" is a number if there is no such limit. */
bool next_number(struct step *step, uint64_t most, uint64_t *number);
bool is_number(const char *text, uint64_t most, uint64_t *number);

/* The next word as a number that may be negative. */
bool next_integer(struct step *step, int32_t *integer);

/* The next word as a length of time, in milliseconds, in microseconds. */
bool next_milliseconds(struct step *step, uint64_t *microseconds);

/* The next word as +1, 0 or -1. */
bool next_trit(struct step *step, tern_trit_t *trit);

/* The next word as a reason, by its name. */
bool next_reason(struct step *step, int32_t *reason);

/* The value of a word `key=value`; NULL if it is none of this key. */
char *value_of(char *word, const char *key);

/* As above, as a number; leaves it alone if it is none. */
bool is_u32(char *word, const char *key, uint32_t *number);
bool is_u64(char *word, const char *key, uint64_t *number);

/* The parts of a list. */
struct list {
    tern_text_t texts[LONGEST_LIST];
    size_t count;
};
bool split(char *text, struct list *list);

/* What a claim wants that every claim may want. */
struct wants {
    uint32_t count, slots, memory_mib;
    int32_t priority;
    uint64_t notice, wait, flags;
    tern_lease_t parent;
};
bool is_want(char *word, struct wants *wants);

/* ---- labels.c: the driver's own names for leases and tickets */

void give_label(const char *name, tern_lease_t lease, tern_ticket_t ticket);
/* The claim of this ticket became this lease. */
void note_grant(tern_ticket_t ticket, tern_lease_t lease);
tern_lease_t lease_of(const char *name);
tern_ticket_t ticket_of(const char *name);
void forget_labels(void);

/* ---- answers.c: what came of it */

/* Prints a status, with its reason if there is one; whether it is TERN_OK. */
bool answer(tern_status_t status);
/* As above, in place of a handler's last line: the step made sense. */
bool answered(tern_status_t status);
void print_number(uint64_t number);
void print_text(const char *text);
void print_trit(tern_trit_t trit);
void print_lease(tern_lease_t lease);
void print_ticket(tern_ticket_t ticket);
void print_leases(const tern_lease_t *leases, size_t count);

/* ---- the verbs: each reads what it needs and answers, or is false if the step makes no sense */

enum need { NOTHING, A_MANAGER, A_POOL, A_MACHINE };

struct verb {
    const char *name;
    enum need need;
    bool (*run)(struct step *step);
};

/* Each ends with one that has no name. */
extern const struct verb table_verbs[], lease_verbs[], look_verbs[], watch_verbs[], pool_verbs[], cost_verbs[];

/* Closes pool, events, watches and manager. */
void close_table(void);
void close_watches(void);

#endif
