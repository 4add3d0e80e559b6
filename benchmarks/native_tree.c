/* The transform pass in C, for comparison: the same loop, the same work, four numbers at a time, as ecs/kernels.py. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define UNSEEN_BITS 0x7FF8D10A2A3A0001ull
#define PICK(v, a, b, c, d) __builtin_shufflevector(v, v, a, b, c, d)

typedef double Four __attribute__((vector_size(32)));
typedef int64_t Bits __attribute__((vector_size(32)));

static inline Four load(const double *from) {
    Four four;
    memcpy(&four, from, sizeof four);
    return four;
}

static inline void store(double *to, Four four) { memcpy(to, &four, sizeof four); }

static inline int any(Bits flags) {
    flags |= PICK(flags, 2, 3, 0, 1);
    return (flags[0] | flags[1]) != 0;
}

static inline int infinite(Four four) {
    Four zero_or_nan = four - four;
    return any(zero_or_nan != zero_or_nan);
}

int64_t propagate(int64_t n, const int32_t *order, const int32_t *parent, const double *local, double *seen,
                  double *pose, int64_t *moved, int64_t *posed, int64_t version) {
    const Bits last = {0, 0, 0, INT64_MIN};
    int64_t bad = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i], above = parent[row];
        const double *l = local + row * 10;
        double *w = pose + row * 10, *b = seen + row * 10;
        Four p = load(l), r = load(l + 3), s = load(l + 6);
        uint64_t x[2];
        memcpy(x, l, 8);
        memcpy(x + 1, b, 8);
        int differ = x[0] != x[1];
        if (!differ) {
            differ = any(((Bits)p ^ (Bits)load(b)) | ((Bits)r ^ (Bits)load(b + 3)) | ((Bits)s ^ (Bits)load(b + 6)));
            if (!differ && (above < 0 || posed[above] != version)) continue;
        }
        Four squares = r * r, sums = squares + PICK(squares, 1, 0, 3, 2);
        double norm2 = sums[0] + sums[2];
        int good = 1;
        if (fabs(norm2 - 1.0) > 1e-14) {
            good = norm2 >= 1e-290 && norm2 < INFINITY;
            r *= 1.0 / sqrt(norm2);
        }
        if (above >= 0) {
            const double *up = pose + above * 10;
            Four o = load(up), q = load(up + 3), t = load(up + 6);
            Four q_yzx = PICK(q, 1, 2, 0, 1), q_zxy = PICK(q, 2, 0, 1, 2), q_w = PICK(q, 3, 3, 3, 3);
            Four v = PICK(t, 1, 2, 3, 1) * p;
            Four u = q_yzx * PICK(v, 2, 0, 1, 2) - q_zxy * PICK(v, 1, 2, 0, 1);
            u += u;
            p = o + (v + q_w * u + (q_yzx * PICK(u, 2, 0, 1, 2) - q_zxy * PICK(u, 1, 2, 0, 1)));
            Four second = PICK(q, 0, 1, 2, 0) * PICK(r, 3, 3, 3, 0), third = q_yzx * PICK(r, 2, 0, 1, 1);
            r = q_w * r + (Four)((Bits)second ^ last) + (Four)((Bits)third ^ last) - q_zxy * PICK(r, 1, 2, 0, 2);
            s *= t;
        }
        if (infinite(p + r + s))
            good = good && !(infinite(PICK(p, 0, 1, 2, 0)) || infinite(r) || infinite(PICK(s, 1, 2, 3, 1)));
        if (!good) {
            uint64_t unseen = UNSEEN_BITS;
            memcpy(b, &unseen, 8);
            if (bad < 0) bad = row;
            continue;
        }
        if (differ) {
            moved[row] = version;
            memcpy(b, l, 80);
        }
        posed[row] = version;
        store(w, p), store(w + 6, s), store(w + 3, r);
    }
    return bad;
}
