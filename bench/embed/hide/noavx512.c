// Hides AVX-512 from a program on a processor that has it, so that what it does with AVX2 can be measured:
//
//     cc -shared -fPIC -O2 -o noavx512.so noavx512.c && LD_PRELOAD=./noavx512.so python worker.py
//
// Linux makes CPUID fault where the processor can (arch_prctl(2), ARCH_SET_CPUID); the handler answers in its place. Bits
// are those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, leaf 7.

#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012

static void hide(unsigned leaf, unsigned part, unsigned *a, unsigned *b, unsigned *c, unsigned *d) {
	if (leaf != 7) return;
	if (part == 0) {
		*b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
		*c &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
		*d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);
	} else if (part == 1) {
		*a &= ~(1u << 4 | 1u << 5);
	}
}

static void answer(int signal_number, siginfo_t *info, void *context) {
	(void)info;
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)r[REG_RIP];
	if (at[0] != 0x0f || at[1] != 0xa2) { // a fault of another kind happens again, with nobody to answer it
		signal(signal_number, SIG_DFL);
		return;
	}
	unsigned a, b, c, d, leaf = (unsigned)r[REG_RAX], part = (unsigned)r[REG_RCX];
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
	__cpuid_count(leaf, part, a, b, c, d);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	hide(leaf, part, &a, &b, &c, &d);
	r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
	r[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
	struct sigaction act = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
	if (sigaction(SIGSEGV, &act, NULL) != 0 || syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) {
		perror("hide AVX-512");
		exit(1);
	}
}
