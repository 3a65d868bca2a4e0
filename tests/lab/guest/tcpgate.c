/*
 * tcpgate ADDR PORT TO-PORT N: passes connections on to ADDR:TO-PORT. On SIGUSR1 it drops them all,
 * passes N more and from then on takes connections without answering: a peer that goes deaf while a
 * host is still setting up its queues.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t closing;

static void on_usr1(int sig)
{
	closing = 1;
}

static void pass(int a, const struct sockaddr_in *to)
{
	static char buf[65536];
	int on = 1, b = socket(AF_INET, SOCK_STREAM, 0);
	struct pollfd fd[2] = { { a, POLLIN }, { b, POLLIN } };

	if (connect(b, (const void *)to, sizeof(*to)))
		_exit(1);
	setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	while (poll(fd, 2, -1) > 0)
		for (int i = 0; i < 2; i++) {
			ssize_t n, done = 0, w;

			if (!fd[i].revents)
				continue;
			n = read(fd[i].fd, buf, sizeof(buf));
			if (n <= 0)
				_exit(0);
			for (; done < n; done += w)
				if ((w = write(fd[!i].fd, buf + done, n - done)) <= 0)
					_exit(0);
		}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in me = { .sin_family = AF_INET }, to;
	struct sigaction sa = { .sa_handler = on_usr1 };	/* no SA_RESTART: accept() must return */
	int on = 1, left = -1, s = socket(AF_INET, SOCK_STREAM, 0), n = 0;
	static pid_t child[1024];

	if (argc != 5)
		return 2;
	inet_pton(AF_INET, argv[1], &me.sin_addr);
	to = me;
	me.sin_port = htons(atoi(argv[2]));
	to.sin_port = htons(atoi(argv[3]));
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGCHLD, SIG_IGN);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, (void *)&me, sizeof(me)) || listen(s, 1024)) {
		perror("tcpgate");
		return 1;
	}
	for (;;) {
		int a = accept(s, NULL, NULL);

		if (closing) {
			closing = 0;
			left = atoi(argv[4]);
			while (n)
				kill(child[--n], SIGKILL);
		}
		if (a < 0 || !left)
			continue;	/* a deaf one: the descriptor stays open on purpose */
		if (left > 0)
			left--;
		child[n] = fork();
		if (!child[n]) {
			close(s);
			signal(SIGUSR1, SIG_IGN);
			pass(a, &to);
		}
		n = (n + 1) % 1024;
		close(a);
	}
}
