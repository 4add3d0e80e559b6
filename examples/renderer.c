/* A renderer in C: follows a published scene from docs/wire.md alone and prints where everything is.
 *
 *   cc examples/renderer.c -lzmq -o renderer && ./renderer tcp://127.0.0.1:5555 10
 *
 * It joins on the topic scene/world/ (world poses, so no tree has to be resolved here) and stops after so many updates.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { HEADER = 64, MOST_ROWS = 1 << 16 };
static double pose[MOST_ROWS][10]; /* position 3, orientation xyzw 4, scale 3: NED metres */
static uint8_t known[MOST_ROWS];

/* Receive one frame into a growing buffer; returns its size. */
static int frame(void *socket, uint8_t **buffer, size_t *room, int *more) {
    zmq_msg_t message;
    size_t size = sizeof *more;
    zmq_msg_init(&message);
    int bytes = zmq_msg_recv(&message, socket, 0);
    if (bytes >= 0) {
        if ((size_t)bytes >= *room) *buffer = realloc(*buffer, *room = (size_t)bytes + 1);
        memcpy(*buffer, zmq_msg_data(&message), (size_t)bytes);
        (*buffer)[bytes] = 0;
        zmq_getsockopt(socket, ZMQ_RCVMORE, more, &size);
    }
    zmq_msg_close(&message);
    return bytes;
}

int main(int count, char **words) {
    const char *endpoint = count > 1 ? words[1] : "tcp://127.0.0.1:5555";
    int updates = count > 2 ? atoi(words[2]) : 10, whole = 0, row, generation, read;
    uint8_t *part[7] = {0};
    size_t room[7] = {0};
    uint64_t sequence = 0, number, base;
    char snapshot[64], *gone;
    snprintf(snapshot, sizeof snapshot, "snapshot/world/c%lx.0/", (unsigned long)time(NULL));

    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "scene/world/", 12); /* first the updates, then the complete scene */
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, snapshot, strlen(snapshot));
    if (zmq_connect(socket, endpoint)) return fprintf(stderr, "cannot connect to %s\n", endpoint), 1;

    while (updates > 0) {
        int size[7] = {0}, parts = 0, more = 1;
        while (more) { /* topic, header, structure, rows, poses, rows with velocity, velocities */
            int at = parts < 6 ? parts : 6;
            if ((size[at] = frame(socket, &part[at], &room[at], &more)) < 0) return 1;
            parts++;
        }
        if (parts != 7 || size[1] != HEADER || memcmp(part[1], "DIOR\1", 5)) continue;
        memcpy(&number, part[1] + 24, 8);
        memcpy(&base, part[1] + 56, 8);
        int complete = part[1][5] == 1, rows = size[3] / 4;
        if (!complete && (!whole || number <= sequence)) continue;
        if (!complete && base != sequence) return fprintf(stderr, "update %lu is lost\n", (unsigned long)base), 2;
        if (complete) memset(known, 0, sizeof known), whole = 1;
        if ((gone = strstr((char *)part[2], "\"removed\":[")))
            for (gone += 11; sscanf(gone, "[%d,%d]%n", &row, &generation, &read) == 2; gone += read + 1)
                if (row >= 0 && row < MOST_ROWS) known[row] = 0;
        for (int i = 0; i < rows && size[4] == rows * 80; i++) {
            memcpy(&row, part[3] + 4 * i, 4);
            if (row < 0 || row >= MOST_ROWS) continue;
            memcpy(pose[row], part[4] + 80 * i, 80);
            known[row] = 1;
        }
        sequence = number;
        updates--;
    }
    for (row = 0; row < MOST_ROWS; row++)
        if (known[row]) printf("%d %.17g %.17g %.17g\n", row, pose[row][0], pose[row][1], pose[row][2]);
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
