/* The transform pass in C, for comparison: the same loop, the same work, compiled with -O3. */
#include <math.h>
#include <stdint.h>
#include <string.h>

int64_t propagate(int64_t n, const int32_t *order, const int32_t *parent, const double *local, double *seen,
                  double *pose, int64_t *moved, int64_t *posed, int64_t version) {
    int64_t bad = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i], above = parent[row];
        const double *l = local + row * 10;
        double *w = pose + row * 10, *s = seen + row * 10;
        uint64_t differ = 0, a[10], b[10];
        memcpy(a, l, 80);
        memcpy(b, s, 80);
        for (int k = 0; k < 10; k++) differ |= a[k] ^ b[k];
        if (!differ && (above < 0 || posed[above] != version)) continue;
        double rx = l[3], ry = l[4], rz = l[5], rw = l[6];
        double norm2 = rx * rx + ry * ry + rz * rz + rw * rw;
        double sound = (l[0] - l[0]) + (l[1] - l[1]) + (l[2] - l[2]) + (norm2 - norm2) + (l[7] - l[7]) +
                       (l[8] - l[8]) + (l[9] - l[9]);
        if (sound != 0.0 || norm2 == 0.0) {
            if (bad < 0) bad = row;
            continue;
        }
        if (differ) {
            moved[row] = version;
            memcpy(s, l, 80);
        }
        posed[row] = version;
        if (fabs(norm2 - 1.0) > 1e-14) {
            double k = 1.0 / sqrt(norm2);
            rx *= k, ry *= k, rz *= k, rw *= k;
        }
        if (above < 0) {
            memcpy(w, l, 80);
            w[3] = rx, w[4] = ry, w[5] = rz, w[6] = rw;
            continue;
        }
        const double *p = pose + above * 10;
        double qx = p[3], qy = p[4], qz = p[5], qw = p[6], sx = p[7], sy = p[8], sz = p[9];
        double vx = sx * l[0], vy = sy * l[1], vz = sz * l[2];
        double ux = 2.0 * (qy * vz - qz * vy), uy = 2.0 * (qz * vx - qx * vz), uz = 2.0 * (qx * vy - qy * vx);
        w[0] = p[0] + (vx + qw * ux + (qy * uz - qz * uy));
        w[1] = p[1] + (vy + qw * uy + (qz * ux - qx * uz));
        w[2] = p[2] + (vz + qw * uz + (qx * uy - qy * ux));
        w[3] = qw * rx + qx * rw + qy * rz - qz * ry;
        w[4] = qw * ry - qx * rz + qy * rw + qz * rx;
        w[5] = qw * rz + qx * ry - qy * rx + qz * rw;
        w[6] = qw * rw - qx * rx - qy * ry - qz * rz;
        w[7] = sx * l[7], w[8] = sy * l[8], w[9] = sz * l[9];
    }
    return bad;
}
