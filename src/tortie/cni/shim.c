/* The program that runtimes call, compiled: it takes the request to the agent and the answer back, and understands
 * neither. It does what plugin.py does, in a twentieth of the time that an interpreter needs to start.
 *
 * Whatever else there is to do, above all while the agent is away, Python does: the program in the settings is
 * plugin_alone.py. It gets the request as its standard input, and as its first argument why there was no answer.
 *
 * Called as `loopback` it is that plugin (loopback.c). No memory is asked for, no shell is called, and every wait ends at one and the same time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define REQUEST_MAX ((1 << 20) + 65536) /* more than the agent takes: it is the one to refuse */
#define ANSWER_MAX (1 << 20)
#define ARGUMENTS_MAX 24

/* Filled in where this is installed (shim.py knows the mark and the size): texts, each with a zero behind it. It is not
 * static, or a compiler might take it for what it is here. */
char settings[32768] = "@TORTIE-CNI settings@";
const char *setting[SETTINGS_COUNT];

static char request[REQUEST_MAX];
static size_t length;
static char answer[ANSWER_MAX];
static long long deadline_ms;

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Until there is something to read or room to write; in time, or not. */
static int ready(int descriptor, short events)
{
    for (;;) {
        long long left = deadline_ms - now_ms();
        struct pollfd one = {.fd = descriptor, .events = events};
        int found = left > 0 ? poll(&one, 1, (int)left) : 0;
        if (found > 0)
            return 1;
        if (found < 0 && errno == EINTR)
            continue;
        if (found == 0)
            errno = ETIMEDOUT;
        return 0;
    }
}

void put(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(1, text, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        size -= (size_t)written;
    }
}

int give_up(const char *why)
{
    static const char begin[] = "{\"cniVersion\":\"1.0.0\",\"code\":11,\"msg\":\"";
    static const char end[] = "\",\"details\":\"Fix: `tortie cni install` writes this plugin anew\"}\n";
    put(begin, sizeof begin - 1);
    put(why, strlen(why));
    put(end, sizeof end - 1);
    return 1;
}

static int read_settings(void)
{
    const char *text = settings, *end = text + sizeof settings - 1;
    for (int index = 0; index < SETTINGS_COUNT; index++) {
        setting[index] = text;
        text = memchr(text, 0, (size_t)(end - text));
        if (text == NULL || ++text >= end)
            return 0;
    }
    return setting[SOCKET][0] == '/' && setting[PYTHON][0] == '/';
}

static int append(const char *text, size_t size)
{
    if (size > REQUEST_MAX - length)
        return 0;
    memcpy(request + length, text, size);
    length += size;
    return 1;
}

/* What this was called by, as an interpreter is told it: without regard to the first word. */
static const char *own_name(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    const char *name = path ? strrchr(path, '/') : NULL;
    return name ? name + 1 : path ? path : "tortie";
}

/* The own name, and all variables of a runtime; each begins with a zero. */
static int append_variables(const char *name, char **environment)
{
    static const char begin[] = "TORTIE-CNI 1\0TORTIE_PLUGIN=";
    if (!append(begin, sizeof begin - 1) || !append(name, strlen(name)))
        return 0;
    for (; *environment; environment++)
        if (strncmp(*environment, "CNI_", 4) == 0 && strchr(*environment, '='))
            if (!append("", 1) || !append(*environment, strlen(*environment)))
                return 0;
    return append("\0", 2);
}

/* What does not fit any more is left unread: the agent refuses that much, and so is this refused. */
ptrdiff_t read_input(char *into, size_t room)
{
    size_t size = 0;
    while (size < room) {
        if (!ready(0, POLLIN))
            return -1;
        ssize_t got = read(0, into + size, room - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    return (ptrdiff_t)size;
}

/* A socket's address has room for 107 bytes: with a longer path the folder is gone to. */
static int connected(void)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    const char *path = setting[SOCKET];
    char folder[4096];
    if (strlen(path) >= sizeof place.sun_path) {
        size_t size = (size_t)(strrchr(path, '/') - path);
        if (size >= sizeof folder) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(folder, path, size);
        folder[size] = 0;
        if (chdir(folder) < 0)
            return -1;
        path += size + 1;
        if (strlen(path) >= sizeof place.sun_path) {
            errno = ENAMETOOLONG;
            return -1;
        }
    }
    memcpy(place.sun_path, path, strlen(path));
    int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (agent < 0)
        return -1;
    /* Connecting waits while the agent's queue is full. */
    long long left = deadline_ms - now_ms();
    struct timeval patience = {.tv_sec = left > 0 ? left / 1000 : 0, .tv_usec = left > 0 ? left % 1000 * 1000 : 1};
    if (setsockopt(agent, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ||
        connect(agent, (struct sockaddr *)&place, sizeof place) < 0) {
        close(agent);
        return -1;
    }
    return agent;
}

/* All of the request, with the namespace's descriptor beside its first byte: the agent may live where the runtime's
 * paths lead nowhere. A namespace that cannot be opened is the agent's to judge. */
static int sent(int agent, const char *netns)
{
    int namespace = netns && *netns ? open(netns, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    union {
        char room[CMSG_SPACE(sizeof namespace)];
        struct cmsghdr header;
    } rights;
    memset(&rights, 0, sizeof rights);
    size_t done = 0;
    while (done < length) {
        struct iovec part = {request + done, length - done};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (done == 0 && namespace >= 0) {
            rights.header.cmsg_level = SOL_SOCKET;
            rights.header.cmsg_type = SCM_RIGHTS;
            rights.header.cmsg_len = CMSG_LEN(sizeof namespace);
            memcpy(CMSG_DATA(&rights.header), &namespace, sizeof namespace);
            message.msg_control = &rights;
            message.msg_controllen = sizeof rights.room;
        }
        if (!ready(agent, POLLOUT))
            return 0;
        ssize_t went = sendmsg(agent, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (went < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (went < 0)
            return 0;
        done += (size_t)went;
    }
    return shutdown(agent, SHUT_WR) == 0;
}

/* How much the agent answered; -1 if it could not be heard to its end. */
static ssize_t received(int agent)
{
    size_t size = 0;
    while (size < ANSWER_MAX) {
        if (!ready(agent, POLLIN))
            return -1;
        ssize_t got = recv(agent, answer + size, ANSWER_MAX - size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            return (ssize_t)size;
        size += (size_t)got;
    }
    errno = EMSGSIZE;
    return -1;
}

/* The exit code if the agent had one to tell: digits and a line's end before the output. */
static int asked(const char *netns, const char **why)
{
    int agent = connected();
    ssize_t size = agent >= 0 && sent(agent, netns) ? received(agent) : -1;
    if (size < 0) {
        *why = errno == EAGAIN || errno == EINPROGRESS || errno == ETIMEDOUT ? "timed out" : strerror(errno);
        return -1;
    }
    *why = "it hung up";
    ssize_t at = 0;
    int code = 0;
    while (at < size && at < 3 && answer[at] >= '0' && answer[at] <= '9')
        code = code * 10 + (answer[at++] - '0');
    if (at == 0 || at == size || answer[at] != '\n' || code > 255)
        return -1;
    put(answer + at + 1, (size_t)(size - at - 1));
    return code;
}

int leave_to_python(const char *program, const char *first, const char *input, size_t size, char **words)
{
    char *arguments[ARGUMENTS_MAX] = {(char *)setting[PYTHON], "-ISXutf8", "-c", (char *)program, (char *)first};
    for (int at = first ? 5 : 4; *words && *++words && at < ARGUMENTS_MAX - 1; at++)
        arguments[at] = *words;
    int given = memfd_create("request", MFD_CLOEXEC);
    size_t done = 0;
    while (given >= 0 && done < size) {
        ssize_t went = write(given, input + done, size - done);
        if (went <= 0)
            return give_up("there is no memory for Python, and nothing goes on without it");
        done += (size_t)went;
    }
    if (given < 0 || lseek(given, 0, SEEK_SET) < 0 || dup2(given, 0) < 0)
        return give_up("there is no memory for Python, and nothing goes on without it");
    execv(setting[PYTHON], arguments);
    return give_up("without the agent this is Python's to do, and there is no Python");
}

int main(int count, char **words, char **environment)
{
    const char *command = getenv("CNI_COMMAND"), *name = own_name(), *why = "it hung up";
    (void)count;
    if (!read_settings())
        return give_up("this plugin was not installed, only copied");
    deadline_ms = now_ms() + atoll(setting[PATIENCE_MS]);
    if (strcmp(name, "loopback") == 0)
        return loopback(words);
    if (!append_variables(name, environment))
        return give_up("the variables of the request are too long");
    if (command && *command) {
        ptrdiff_t size = read_input(request + length, REQUEST_MAX - length);
        if (size < 0)
            return give_up("the configuration on the standard input does not end");
        length += (size_t)size;
        if (strcmp(command, "VERSION") != 0) {
            int code = asked(getenv("CNI_NETNS"), &why);
            if (code >= 0)
                return code;
        }
    }
    return leave_to_python(setting[ALONE], why, request, length, words);
}
