/* The few names of libzmq that examples/renderer.c uses, for machines that have the library of pyzmq but no header. */
#include <stddef.h>
typedef struct { unsigned char data[64]; } __attribute__((aligned(8))) zmq_msg_t;
enum { ZMQ_SUB = 2, ZMQ_SUBSCRIBE = 6, ZMQ_RCVMORE = 13 };
void *zmq_ctx_new(void);
int zmq_ctx_term(void *);
void *zmq_socket(void *, int);
int zmq_close(void *);
int zmq_connect(void *, const char *);
int zmq_setsockopt(void *, int, const void *, size_t);
int zmq_getsockopt(void *, int, void *, size_t *);
int zmq_msg_init(zmq_msg_t *);
int zmq_msg_recv(zmq_msg_t *, void *, int);
void *zmq_msg_data(zmq_msg_t *);
int zmq_msg_close(zmq_msg_t *);
