/*
 * usage: server TURNS LOG
 *
 * The cheapest model server there can be: it reads a request by its Content-Length, does not look at what it says,
 * and answers the first TURNS requests of a connection with a Bash call of "echo hi", the others with a text. Prints
 * "PORT N", then serves one connection after the other until it is killed. LOG gets a line for each request, written
 * when the connection ends: the monotonic time of its first byte in microseconds, and the bytes of its body.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MAX 1000
#define HEAD_MAX     65536

static struct {
	long long at_us;
	size_t bytes;
} seen[REQUESTS_MAX];

static const char tool_call[] =
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":"
        "\"assistant\",\"model\":\"bench\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,"
        "\"output_tokens\":1}}}\n\n"
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
        "\"tool_use\",\"id\":\"call%d\",\"name\":\"Bash\",\"input\":{}}}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
        "\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}}\n\n"
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{"
        "\"output_tokens\":5}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

static const char text[] =
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":"
        "\"assistant\",\"model\":\"bench\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,"
        "\"output_tokens\":1}}}\n\n"
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
        "\"text\",\"text\":\"\"}}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
        "\"text_delta\",\"text\":\"fine\"}}\n\n"
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
        "\"output_tokens\":5}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static bool answer(int fd, int n, int turns)
{
	char body[4096], all[8192];
	int len = n < turns ? snprintf(body, sizeof body, tool_call, n) : snprintf(body, sizeof body, "%s", text);
	int total = snprintf(all, sizeof all,
	                     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	                     "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
	                     (unsigned)len, body);

	return send(fd, all, (size_t)total, MSG_NOSIGNAL) == total;
}

/* Reads one request, notes it as the n-th. False at the end of the connection. */
static bool take_request(int fd, int n)
{
	static char head[HEAD_MAX + 1], rest[1 << 16];
	size_t have = 0;
	const char *end = NULL;

	while (!end) {
		ssize_t got = recv(fd, head + have, HEAD_MAX - have, 0);
		if (got <= 0)
			return false;
		if (!have)
			seen[n].at_us = now_us();
		have += (size_t)got;
		head[have] = '\0';
		end = memmem(head, have, "\r\n\r\n", 4);
	}
	const char *length = strcasestr(head, "\r\nContent-Length:");
	if (!length)
		return false;
	seen[n].bytes = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
	have -= (size_t)(end + 4 - head);
	while (have < seen[n].bytes) {
		ssize_t got = recv(fd, rest, sizeof rest, 0);
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

static void serve(int fd, int turns, FILE *log)
{
	const int on = 1;
	int n = 0;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	while (n < REQUESTS_MAX && take_request(fd, n) && answer(fd, n, turns))
		n++;
	close(fd);
	for (int i = 0; i < n; i++)
		fprintf(log, "%lld %zu\n", seen[i].at_us, seen[i].bytes);
	fflush(log);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	int ear = socket(AF_INET, SOCK_STREAM, 0);
	FILE *log = argc == 3 ? fopen(argv[2], "w") : NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!log) {
		fprintf(stderr, "usage: server TURNS LOG\n");
		return 2;
	}
	if (bind(ear, (struct sockaddr *)&at, size) || listen(ear, 16) ||
	    getsockname(ear, (struct sockaddr *)&at, &size)) {
		perror("server");
		return 1;
	}
	printf("PORT %d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (int fd; (fd = accept(ear, NULL, NULL)) >= 0;)
		serve(fd, (int)strtol(argv[1], NULL, 10), log);
	return 1;
}
