/* The transform pass in C, for comparison: the same loop, the same work as ecs/kernels.py. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define UNSEEN_BITS 0x7FF8D10A2A3A0001ull

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
        double lx = l[0], ly = l[1], lz = l[2], rx = l[3], ry = l[4], rz = l[5], rw = l[6];
        double tx = l[7], ty = l[8], tz = l[9];
        double norm2 = rx * rx + ry * ry + rz * rz + rw * rw;
        if (fabs(norm2 - 1.0) > 1e-14) {
            double k = 1.0 / sqrt(norm2);
            rx *= k, ry *= k, rz *= k, rw *= k;
        }
        if (above >= 0) {
            const double *p = pose + above * 10;
            double qx = p[3], qy = p[4], qz = p[5], qw = p[6], sx = p[7], sy = p[8], sz = p[9];
            double vx = sx * lx, vy = sy * ly, vz = sz * lz;
            double ux = 2.0 * (qy * vz - qz * vy), uy = 2.0 * (qz * vx - qx * vz), uz = 2.0 * (qx * vy - qy * vx);
            lx = p[0] + (vx + qw * ux + (qy * uz - qz * uy));
            ly = p[1] + (vy + qw * uy + (qz * ux - qx * uz));
            lz = p[2] + (vz + qw * uz + (qx * uy - qy * ux));
            double ox = qw * rx + qx * rw + qy * rz - qz * ry, oy = qw * ry + qy * rw + qz * rx - qx * rz;
            double oz = qw * rz + qz * rw + qx * ry - qy * rx, ow = qw * rw - qx * rx - qy * ry - qz * rz;
            rx = ox, ry = oy, rz = oz, rw = ow;
            tx *= sx, ty *= sy, tz *= sz;
        }
        double total = ((lx + ly) + (lz + tx)) + ((ty + tz) + (rx + ry)) + (rz + rw);
        if (!(isfinite(total) && norm2 >= 1e-290 && norm2 < INFINITY)) {
            double parts[10] = {lx, ly, lz, rx, ry, rz, rw, tx, ty, tz};
            int good = norm2 >= 1e-290 && norm2 < INFINITY;
            for (int k = 0; k < 10; k++) good = good && isfinite(parts[k]);
            if (!good) {
                uint64_t unseen = UNSEEN_BITS;
                memcpy(s, &unseen, 8);
                if (bad < 0) bad = row;
                continue;
            }
        }
        if (differ) {
            moved[row] = version;
            memcpy(s, l, 80);
        }
        posed[row] = version;
        w[0] = lx, w[1] = ly, w[2] = lz, w[3] = rx, w[4] = ry, w[5] = rz, w[6] = rw, w[7] = tx, w[8] = ty, w[9] = tz;
    }
    return bad;
}
