/*
 * Traffic for PF_RDS, one process an end:
 *   rdsapp ib|tcp echo  LADDR PORT TOS
 *   rdsapp ib|tcp sink  LADDR PORT TOS      binds, and never reads
 *   rdsapp ib|tcp ping  LADDR PORT FADDR FPORT TOS SIZE MS
 *   rdsapp ib|tcp mesh-echo LADDR PORT N    echo on N addresses from LADDR on
 *   rdsapp ib|tcp mesh  LADDR PORT NL FADDR FPORT NF SIZE MS
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif
#define SOL_RDS 276
#define SO_RDS_TRANSPORT 8
#define RDS_TRANS_IB 0
#define RDS_TRANS_TCP 2
#define SIOCRDSSETTOS 0x89E0	/* SIOCPROTOPRIVATE */

static int transport = RDS_TRANS_IB;
static char buf[1 << 20];

static struct sockaddr_in at(uint32_t ip, int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(ip) };
}

static uint32_t ip(const char *s)
{
	return ntohl(inet_addr(s));
}

static int rds_socket(uint32_t laddr, int port, int tos)
{
	struct sockaddr_in a = at(laddr, port);
	int s = socket(AF_RDS, SOCK_SEQPACKET, 0);
	uint8_t t = tos;

	if (s < 0 || setsockopt(s, SOL_RDS, SO_RDS_TRANSPORT, &transport, sizeof(transport)) ||
	    bind(s, (void *)&a, sizeof(a)) || (tos && ioctl(s, SIOCRDSSETTOS, &t))) {
		perror("rds socket");
		exit(1);
	}
	return s;
}

static int tx(int s, uint32_t to, int port, size_t size)
{
	struct sockaddr_in a = at(to, port);

	return sendto(s, buf, size, MSG_DONTWAIT, (void *)&a, sizeof(a)) == (ssize_t)size;
}

/* Reads all there is; sends it back when asked to. */
static long drain(int s, int echo)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	long got = 0;
	ssize_t n;

	while ((n = recvfrom(s, buf, sizeof(buf), MSG_DONTWAIT, (void *)&from, &len)) > 0) {
		got++;
		if (echo)
			sendto(s, buf, n, MSG_DONTWAIT, (void *)&from, len);
		len = sizeof(from);
	}
	return got;
}

int main(int argc, char **v)
{
	const char *mode = argc > 4 ? v[2] : "";
	int mesh = !strncmp(mode, "mesh", 4), talks = !strcmp(mode, "ping") || !strcmp(mode, "mesh");
	int nl = mesh ? atoi(v[5]) : 1, nf = 0, fport = 0, size = 0, ms = 1000;
	long sent = 0, failed = 0, got = 0;
	uint32_t to = 0;
	struct pollfd *p;

	if (!*mode)
		return 2;
	transport = strcmp(v[1], "tcp") ? RDS_TRANS_IB : RDS_TRANS_TCP;
	p = calloc(nl, sizeof(*p));
	for (int i = 0; i < nl; i++) {
		int tos = mesh ? 0 : atoi(v[talks ? 7 : 5]);

		p[i].fd = rds_socket(ip(v[3]) + i, atoi(v[4]), tos);
		p[i].events = POLLIN;
	}
	if (!strcmp(mode, "sink"))
		for (;;)
			pause();
	if (talks) {
		to = ip(v[mesh ? 6 : 5]);
		fport = atoi(v[mesh ? 7 : 6]);
		nf = mesh ? atoi(v[8]) : 1;
		size = atoi(v[mesh ? 9 : 8]);
		ms = atoi(v[mesh ? 10 : 9]);
	}
	for (long round = 0;; round++) {
		for (int i = 0; i < nl; i++)
			for (int j = 0; j < nf; j++) {
				if (tx(p[i].fd, to + j, fport, size))
					sent++;
				else
					failed++;
				if (mesh && !round)
					usleep(20000);	/* not all connects at once */
			}
		poll(p, nl, ms);
		for (int i = 0; i < nl; i++)
			got += drain(p[i].fd, !talks);
		if (talks)
			usleep(ms * 1000);
		if (round % 20 == 0) {
			printf("%s sent %ld failed %ld got %ld\n", mode, sent, failed, got);
			fflush(stdout);
		}
	}
}
