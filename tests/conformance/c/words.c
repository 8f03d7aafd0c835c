/* What a step says: words, numbers, options. */
#include "driver.h"

#include <errno.h>

char *next_word(struct step *step)
{
    char *word = step->rest;
    if (word == NULL || *word == '\0')
        return NULL;
    char *end = strchr(word, ' ');
    if (end != NULL)
        *end++ = '\0';
    step->rest = end;
    return word;
}

bool is_number(const char *text, uint64_t most, uint64_t *number)
{
    if (most == UINT64_MAX && strcmp(text, "forever") == 0) {
        *number = TERN_FOREVER;
        return true;
    }
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    unsigned long long read = strtoull(text, NULL, 10);
    if (errno != 0 || read > most)
        return false;
    *number = read;
    return true;
}

bool next_number(struct step *step, uint64_t most, uint64_t *number)
{
    const char *word = next_word(step);
    return word != NULL && is_number(word, most, number);
}

bool next_integer(struct step *step, int32_t *integer)
{
    const char *word = next_word(step);
    uint64_t size;
    if (word == NULL || !is_number(word + (*word == '-'), INT32_MAX, &size))
        return false;
    *integer = *word == '-' ? -(int32_t)size : (int32_t)size;
    return true;
}

bool next_milliseconds(struct step *step, uint64_t *microseconds)
{
    const char *word = next_word(step);
    if (word == NULL)
        return false;
    if (strcmp(word, "forever") == 0) {
        *microseconds = TERN_FOREVER;
        return true;
    }
    if (!is_number(word, UINT64_MAX / TERN_MILLISECOND, microseconds))
        return false;
    *microseconds *= TERN_MILLISECOND;
    return true;
}

bool next_trit(struct step *step, tern_trit_t *trit)
{
    const char *word = next_word(step);
    if (word == NULL)
        return false;
    if (strcmp(word, "+1") == 0)
        *trit = 1;
    else if (strcmp(word, "0") == 0)
        *trit = 0;
    else if (strcmp(word, "-1") == 0)
        *trit = -1;
    else
        return false;
    return true;
}

bool next_reason(struct step *step, int32_t *reason)
{
    const char *word = next_word(step);
    if (word == NULL)
        return false;
    /* Reasons are numbers below 1000. */
    for (*reason = 0; *reason < 1000; ++*reason)
        if (strcmp(tern_reason_name(*reason), word) == 0)
            return strcmp(word, "UNKNOWN") != 0;
    return false;
}

char *value_of(char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

bool is_u64(char *word, const char *key, uint64_t *number)
{
    const char *value = value_of(word, key);
    return value != NULL && is_number(value, UINT64_MAX, number);
}

bool is_u32(char *word, const char *key, uint32_t *number)
{
    const char *value = value_of(word, key);
    uint64_t read;
    if (value == NULL || !is_number(value, UINT32_MAX, &read))
        return false;
    *number = (uint32_t)read;
    return true;
}

static bool is_priority(char *word, int32_t *priority)
{
    struct step value = { value_of(word, "priority") };
    return next_integer(&value, priority);
}

static bool is_parent(char *word, tern_lease_t *parent)
{
    const char *value = value_of(word, "parent");
    if (value == NULL)
        return false;
    *parent = lease_of(value);
    return true;
}

static bool is_flag(const char *word, uint64_t *flags)
{
    static const struct {
        const char *name;
        uint64_t flag;
    } known[] = { { "exclusive", TERN_CLAIM_EXCLUSIVE },
                  { "shared", TERN_CLAIM_SHARED },
                  { "spare", TERN_CLAIM_SPARE },
                  { "preemptible", TERN_CLAIM_PREEMPTIBLE },
                  { "preempt", TERN_CLAIM_PREEMPT } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, word) == 0) {
            *flags |= known[i].flag;
            return true;
        }
    return false;
}

bool is_want(char *word, struct wants *wants)
{
    return is_u32(word, "count", &wants->count) || is_u32(word, "slots", &wants->slots) ||
           is_u32(word, "memory", &wants->memory_mib) || is_priority(word, &wants->priority) ||
           is_u64(word, "notice", &wants->notice) || is_u64(word, "wait", &wants->wait) ||
           is_parent(word, &wants->parent) || is_flag(word, &wants->flags);
}

bool split(char *text, struct list *list)
{
    for (list->count = 0; list->count < LONGEST_LIST;) {
        size_t length = strcspn(text, ",");
        list->texts[list->count++] = (tern_text_t){ text, length };
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
    return false;
}
