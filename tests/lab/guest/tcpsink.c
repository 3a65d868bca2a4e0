/* tcpsink ADDR PORT: takes TCP connections, never reads, never answers. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int on = 1, s = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 3)
		return 2;
	a.sin_port = htons(atoi(argv[2]));
	inet_pton(AF_INET, argv[1], &a.sin_addr);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, (void *)&a, sizeof(a)) || listen(s, 1024)) {
		perror("tcpsink");
		return 1;
	}
	printf("listening\n");
	fflush(stdout);
	for (;;)
		if (accept(s, NULL, NULL) < 0)
			sleep(1);
}
