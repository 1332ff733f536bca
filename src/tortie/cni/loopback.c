/* The plugin `loopback`, compiled: lo of a sandbox goes up, and down again. What is usual is done here as loopback.py
 * does it; that program gets whatever needs an answer with words in it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

#define CONFIG_MAX (1 << 20)

static char config[CONFIG_MAX];

/* Which results a version has: 1 one address of each family, 2 with their families, 3 without; 0 if it is not one of
 * ours. Without understanding JSON, as in Python. */
static int kind_of_result(const char **version, int *size)
{
    static const struct {
        const char *version;
        int kind;
    } known[] = {{"0.1.0", 1}, {"0.2.0", 1}, {"0.3.0", 2}, {"0.3.1", 2}, {"0.4.0", 2}, {"1.0.0", 3}, {"1.1.0", 3}};
    const char *begin = strstr(config, "\"cniVersion\""), *end;
    if (begin == NULL || (begin = strchr(begin + strlen("\"cniVersion\""), '"')) == NULL ||
        (end = strchr(++begin, '"')) == NULL)
        return 0;
    *version = begin;
    *size = (int)(end - begin);
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (strlen(known[index].version) == (size_t)*size && strncmp(known[index].version, begin, (size_t)*size) == 0)
            return known[index].kind;
    return 0;
}

/* 1: in another's namespace now; 0: it is the own one; -1: the path leads to none. */
static int entered(const char *path)
{
    struct stat there, here;
    int namespace = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (namespace < 0 || fstat(namespace, &there) < 0 || stat("/proc/self/ns/net", &here) < 0)
        return -1;
    if (there.st_dev == here.st_dev && there.st_ino == here.st_ino)
        return 0;
    return setns(namespace, CLONE_NEWNET) == 0 ? 1 : -1;
}

/* Whether lo is up after it was switched: 1 on, 0 off, -1 left as it is. -1 if the kernel refused. */
static int lo(int on)
{
    struct ifreq asked = {.ifr_name = "lo"};
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0 || ioctl(any, SIOCGIFFLAGS, &asked) < 0)
        return -1;
    if (on >= 0) {
        asked.ifr_flags = (short)(on ? asked.ifr_flags | IFF_UP : asked.ifr_flags & ~IFF_UP);
        if (ioctl(any, SIOCSIFFLAGS, &asked) < 0)
            return -1;
    }
    return (asked.ifr_flags & IFF_UP) != 0;
}

static int has_ipv6(void)
{
    char table[8192];
    int file = open("/proc/self/net/if_inet6", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, table, sizeof table - 1) : -1;
    if (size < 0)
        return 0;
    table[size] = 0;
    return strstr(table, "00000000000000000000000000000001 ") != NULL;
}

static void say(const char *text)
{
    put(text, strlen(text));
}

static void tell(int kind, const char *version, int size, const char *netns)
{
    int six = has_ipv6();
    say("{\"cniVersion\": \"");
    put(version, (size_t)size);
    if (kind == 1) {
        say("\", \"ip4\": {\"ip\": \"127.0.0.1/8\"}");
        say(six ? ", \"ip6\": {\"ip\": \"::1/128\"}, \"dns\": {}}\n" : ", \"dns\": {}}\n");
        return;
    }
    say("\", \"interfaces\": [{\"name\": \"lo\", \"mac\": \"00:00:00:00:00:00\", \"sandbox\": \"");
    say(netns);
    say("\"}], \"ips\": [{");
    say(kind == 2 ? "\"version\": \"4\", " : "");
    say("\"interface\": 0, \"address\": \"127.0.0.1/8\"}");
    if (six) {
        say(kind == 2 ? ", {\"version\": \"6\", " : ", {");
        say("\"interface\": 0, \"address\": \"::1/128\"}");
    }
    say("], \"dns\": {}}\n");
}

static int is_plain(const char *path)
{
    for (; *path; path++)
        if (*path < ' ' || *path > '~' || *path == '"' || *path == '\\')
            return 0;
    return 1;
}

int loopback(char **words)
{
    const char *command = getenv("CNI_COMMAND"), *netns = getenv("CNI_NETNS"), *version = "";
    int length = 0;
    ptrdiff_t size = command && *command ? read_input(config, sizeof config - 1) : 0;
    if (size < 0)
        return give_up("the configuration on the standard input does not end");
    int kind = kind_of_result(&version, &length);
    if (command && strcmp(command, "DEL") == 0) {
        if (netns == NULL || *netns == 0 || entered(netns) < 1 || lo(0) == 0)
            return 0;
    } else if (command && netns && kind && is_plain(netns) && strstr(config, "\"prevResult\"") == NULL) {
        if (strcmp(command, "ADD") == 0 && entered(netns) >= 0 && lo(1) == 1) {
            tell(kind, version, length, netns);
            return 0;
        }
        if (strcmp(command, "CHECK") == 0 && entered(netns) >= 0 && lo(-1) == 1)
            return 0;
    }
    return leave_to_python(setting[LOOPBACK], NULL, config, (size_t)size, words);
}
