// Kernels that compute F0, F1 and F2 at many points on a GPU.
//
// Each kernel takes a float64 table, the number of its rows, the number of points, and the five
// vectors mu, s2, f0, f1 and f2. A thread computes one point at a time in double precision,
// whatever the type of the vectors, and rounds the result when it stores it. The arithmetic follows
// the CPU kernels in expectations/compiled line by line. Their modules explain the mathematics. The
// result is NaN at points that are not finite or whose variance is negative.
//
// The source includes no header, so that NVRTC, nvcc and (with a shim, for tests) a C++ compiler
// for the CPU can compile it.

struct Moments {
    double f0, f1, f2;
};

__device__ inline Moments undefined() {
    const double nan = __longlong_as_double(0x7ff8000000000000LL);
    return {nan, nan, nan};
}

// Elementary functions (compiled/elementary.py)

constexpr double EXP_END = -700.0;
constexpr double TAIL_END = 9.0;
constexpr double INV_SQRT_2PI = 0.3989422804014327;

// exp(x) for EXP_END <= x <= 0.
__device__ inline double exp_nonpositive(double x) {
    constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
    const double shifted = fma(x, 1.4426950408889634, rounder);
    const double k = shifted - rounder;
    const double rest = fma(k, -5.497923018708371e-14, fma(k, -0.6931471805598903, x));
    double y = fma(rest, 1.0 / 479001600.0, 1.0 / 39916800.0);
    y = fma(rest, y, 1.0 / 3628800.0);
    y = fma(rest, y, 1.0 / 362880.0);
    y = fma(rest, y, 1.0 / 40320.0);
    y = fma(rest, y, 1.0 / 5040.0);
    y = fma(rest, y, 1.0 / 720.0);
    y = fma(rest, y, 1.0 / 120.0);
    y = fma(rest, y, 1.0 / 24.0);
    y = fma(rest, y, 1.0 / 6.0);
    y = fma(rest, y, 0.5);
    y = fma(rest, y, 1.0);
    y = fma(rest, y, 1.0);
    // Unsigned, because a left shift of a negative number is undefined.
    const unsigned long long exponent = (unsigned long long)__double_as_longlong(shifted) << 52;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(y) + exponent;
    return __longlong_as_double((long long)bits);
}

// log(1 + e) for 0 <= e <= 1.
__device__ inline double log1p_of_unit(double e) {
    const double v = e / (2.0 + e);
    const double y = v * v;
    double p = fma(y, 1.0 / 31.0, 1.0 / 29.0);
    p = fma(y, p, 1.0 / 27.0);
    p = fma(y, p, 1.0 / 25.0);
    p = fma(y, p, 1.0 / 23.0);
    p = fma(y, p, 1.0 / 21.0);
    p = fma(y, p, 1.0 / 19.0);
    p = fma(y, p, 1.0 / 17.0);
    p = fma(y, p, 1.0 / 15.0);
    p = fma(y, p, 1.0 / 13.0);
    p = fma(y, p, 1.0 / 11.0);
    p = fma(y, p, 1.0 / 9.0);
    p = fma(y, p, 1.0 / 7.0);
    p = fma(y, p, 1.0 / 5.0);
    p = fma(y, p, 1.0 / 3.0);
    p = fma(v * y, p, v);
    return 2.0 * p;
}

// (1 - Phi(z)) / N(z; 0, 1) for 0 <= z <= TAIL_END.
__device__ inline double mills_ratio(double z) {
    const double x = (104.0 / 9.0) / (z + 4.0) - 17.0 / 9.0;
    double p = fma(x, 6.143506856421952e-10, 7.830959335291278e-08);
    p = fma(x, p, -4.799696677924978e-07);
    p = fma(x, p, -2.0599710484134819e-07);
    p = fma(x, p, 8.247744467968869e-06);
    p = fma(x, p, 3.1554864079919057e-06);
    p = fma(x, p, -0.00016538657046448647);
    p = fma(x, p, -0.00033336843105494625);
    p = fma(x, p, 0.003158250686815344);
    p = fma(x, p, 0.025279631603171048);
    p = fma(x, p, 0.09798323262172356);
    p = fma(x, p, 0.25302060615578625);
    p = fma(x, p, 0.47077952951645796);
    p = fma(x, p, 0.403580845545021);
    return p;
}

// phi, phi' and phi'' at x.
__device__ inline Moments softplus_at(double x) {
    const double e = exp_nonpositive(fmax(-fabs(x), EXP_END));
    const double share = 1.0 / (1.0 + e);
    return {fmax(x, 0.0) + log1p_of_unit(e), x < 0.0 ? e * share : share, e * share * share};
}

// Look-up in the table of expectations/exact_table.py (compiled/exact.py)

struct Exact {
    static constexpr double C = 1.8;
    static constexpr double T_END = 16.0;
    static constexpr int PATCHES_T = 40;
    static constexpr int PATCHES_Q = 24;
    static constexpr int DEGREE_T = 11;
    static constexpr int DEGREE_Q = 6;
    static constexpr int TERMS_T = DEGREE_T + 1;
    static constexpr int PATCH = TERMS_T * (DEGREE_Q + 1);
    static constexpr double PER_T = PATCHES_T / T_END;
    static constexpr double PER_SLOPE = 2 * PER_T;
    static constexpr double PER_CURVATURE = PER_SLOPE * PER_SLOPE;

    static __device__ Moments at(const double* table, int rows, double mu, double variance) {
        if (!(isfinite(mu) && isfinite(variance) && variance >= 0.0)) return undefined();
        if (variance == 0.0) return softplus_at(mu);
        const double r = sqrt(variance + C * C);
        const double t = fabs(mu) / r;
        double value = 0.0, slope = 0.0, curvature = 0.0;
        if (t < T_END) {
            double x = t * PER_T;
            double y = (C * C) / (variance + C * C) * PATCHES_Q;
            const int patch_t = (int)x < PATCHES_T - 1 ? (int)x : PATCHES_T - 1;
            const int patch_q = (int)y < PATCHES_Q - 1 ? (int)y : PATCHES_Q - 1;
            x = 2.0 * (x - patch_t) - 1.0;
            y = 2.0 * (y - patch_q) - 1.0;
            const double* patch = table + (patch_t * PATCHES_Q + patch_q) * PATCH;
            // Horner's rule in t from the highest power down; the coefficient of each power of t
            // is a polynomial in q. Computing one coefficient at a time needs few registers.
            for (int k = DEGREE_T; k >= 0; --k) {
                double in_t = patch[DEGREE_Q * TERMS_T + k];
#pragma unroll
                for (int power = DEGREE_Q - 1; power >= 0; --power)
                    in_t = fma(in_t, y, patch[power * TERMS_T + k]);
                if (k < DEGREE_T) {
                    curvature = fma(curvature, x, slope);
                    slope = fma(slope, x, value);
                }
                value = fma(value, x, in_t);
            }
            value = fmax(value, 0.0);
            slope = fmax(-slope * PER_SLOPE, 0.0);
            curvature = fmax(2.0 * curvature * PER_CURVATURE, 0.0);
        }
        return {fmax(mu, 0.0) + r * value, mu > 0.0 ? 1.0 - slope : slope, curvature / r};
    }
};

// Truncated moments of a piecewise parabola (compiled/piecewise.py)

struct Piecewise {
    static constexpr double WIDE = 2e3;
    static constexpr int COLUMNS = 7;
    enum Column { A, B, C, KNOT, ALPHA, BETA, GAMMA };

    static __device__ Moments at(const double* table, int pieces, double mu, double variance) {
        if (!(isfinite(mu) && isfinite(variance) && variance >= 0.0)) return undefined();
        if (variance == 0.0) return softplus_at(mu);
        const double s = sqrt(variance);
        if (s > WIDE) return wide(table, pieces, mu, s);
        const double inv_s = 1.0 / s;
        double f0 = 0.0, f1 = 0.0, f2 = 0.0;
        int piece = 0;
        for (int i = 0; i < pieces - 1; ++i) {
            const double* row = table + i * COLUMNS;
            const double alpha = row[ALPHA], beta = row[BETA], gamma = row[GAMMA];
            const double distance = (row[KNOT] - mu) * inv_s;
            const bool on_left = distance < 0.0;
            const double sigma = on_left ? -1.0 : 1.0;
            const double z = fmin(fabs(distance), TAIL_END);
            const double density = exp_nonpositive(-0.5 * z * z) * INV_SQRT_2PI;
            const double n = fabs(distance) > TAIL_END ? 0.0 : density;
            const double q = n * mills_ratio(z);
            const double n_per_s = n * inv_s;
            const double t1 = s * fma(-z, q, n);
            const double t2 = s * fma(-z, t1, s * q);
            piece += on_left;
            f0 += fma(sigma, fma(gamma, q, alpha * t2), beta * t1);
            f1 += fma(2.0 * alpha, t1, fma(gamma, n_per_s, sigma * beta * q));
            f2 += fma(sigma, fma(gamma * z * n_per_s, inv_s, 2.0 * alpha * q), beta * n_per_s);
        }
        const double* own = table + piece * COLUMNS;
        const double a = own[A], b = own[B], c = own[C];
        return {(a * mu + b) * mu + c + a * variance + f0, 2.0 * a * mu + b + f1, 2.0 * a + f2};
    }

    static __device__ Moments wide(const double* table, int pieces, double mu, double s) {
        double spread = 0.0;
        for (int i = 0; i < pieces - 1; ++i) {
            const double* row = table + i * COLUMNS;
            const double k = row[KNOT];
            spread += ((row[BETA] - 2.0 / 3.0 * row[ALPHA] * k) * k - 2.0 * row[GAMMA]) * k;
        }
        const double z = fmin(fabs(mu) / s, TAIL_END);
        const double n = z < TAIL_END ? exp_nonpositive(-0.5 * z * z) * INV_SQRT_2PI : 0.0;
        const double q = n * mills_ratio(z);
        const double correction = 0.5 * spread * n / s;
        const double beyond = q + correction * z / s;
        return {
            fmax(mu, 0.0) + s * (n - z * q) + correction + table[C],
            mu > 0.0 ? 1.0 - beyond : beyond,
            (n + correction * (z * z - 1.0) / s) / s,
        };
    }
};

// Quadrature (compiled/gauss_hermite.py)

struct GaussHermite {
    static __device__ Moments at(const double* table, int nodes, double mu, double variance) {
        const double s = sqrt(variance);
        if (!(isfinite(mu) && isfinite(s))) return undefined();
        double f0 = 0.0, f1 = 0.0, f2 = 0.0;
        for (int i = 0; i < nodes; ++i) {
            const double weight = table[2 * i + 1];
            const Moments phi = softplus_at(mu + s * table[2 * i]);
            f0 += weight * phi.f0;
            f1 += weight * phi.f1;
            f2 += weight * phi.f2;
        }
        return {f0, f1, f2};
    }
};

// The kernels

template <typename Rule, typename Real>
__device__ inline void over_points(const double* table, long long rows, long long n,
                                   const Real* mu, const Real* s2, Real* f0, Real* f1, Real* f2) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x; j < n; j += stride) {
        const Moments result = Rule::at(table, (int)rows, (double)mu[j], (double)s2[j]);
        f0[j] = (Real)result.f0;
        f1[j] = (Real)result.f1;
        f2[j] = (Real)result.f2;
    }
}

// The arrays do not overlap, although the results may be parts of one array.
#define KERNEL(name, Rule, Real)                                                                \
    extern "C" __global__ void name(const double* __restrict__ table, long long rows,           \
                                    long long n, const Real* __restrict__ mu,                   \
                                    const Real* __restrict__ s2, Real* __restrict__ f0,         \
                                    Real* __restrict__ f1, Real* __restrict__ f2) {             \
        over_points<Rule, Real>(table, rows, n, mu, s2, f0, f1, f2);                            \
    }

KERNEL(exact_float64, Exact, double)
KERNEL(exact_float32, Exact, float)
KERNEL(piecewise_float64, Piecewise, double)
KERNEL(piecewise_float32, Piecewise, float)
KERNEL(gauss_hermite_float64, GaussHermite, double)
KERNEL(gauss_hermite_float32, GaussHermite, float)
