// Looking at descriptors without waiting for them.
#ifndef DESCRIPTOR_HPP
#define DESCRIPTOR_HPP

#include <poll.h>

inline bool is_readable(int fd)
{
    pollfd one{fd, POLLIN, 0};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

inline bool is_open(int fd)
{
    pollfd one{fd, POLLIN, 0};
    return poll(&one, 1, 0) == 0 || (one.revents & POLLNVAL) == 0;
}

#endif
