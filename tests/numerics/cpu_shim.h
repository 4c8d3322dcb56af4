// Allow a C++ compiler for the CPU to build CUDA source, and run its kernels one thread at a time.
#include <cmath>
#include <cstring>

#define __global__
#define __device__

struct Index {
    unsigned x;
};
static thread_local Index threadIdx, blockIdx, blockDim, gridDim;

using std::isfinite;

inline long long __double_as_longlong(double x) {
    long long bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline double __longlong_as_double(long long bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

using Kernel = void (*)(const double*, long long, long long, const void*, const void*, void*, void*,
                        void*);

extern "C" void launch(Kernel kernel, unsigned blocks, unsigned threads, const double* table,
                       long long rows, long long n, const void* mu, const void* s2, void* f0,
                       void* f1, void* f2) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            kernel(table, rows, n, mu, s2, f0, f1, f2);
}
