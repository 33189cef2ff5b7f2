// Annotations for clang's thread-safety analysis: which lock guards a member, which lock a function needs, in which order locks
// are taken. The clang build refuses code that breaks them (-Wthread-safety -Wthread-safety-beta). Other compilers see nothing.
//
// A lock is named as an expression that is valid at the declaration: DEDUPFS_GUARDED_BY(mutex_).
// Source: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#ifdef __clang__
#define DEDUPFS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define DEDUPFS_THREAD_ANNOTATION(x)
#endif

// On types: a lock; an object that holds a lock from its constructor to its destructor.
#define DEDUPFS_CAPABILITY(name) DEDUPFS_THREAD_ANNOTATION(capability(name))
#define DEDUPFS_SCOPED_CAPABILITY DEDUPFS_THREAD_ANNOTATION(scoped_lockable)

// On members: read and written only with the lock. The second macro is about the object that a pointer points to.
#define DEDUPFS_GUARDED_BY(lock) DEDUPFS_THREAD_ANNOTATION(guarded_by(lock))
#define DEDUPFS_PT_GUARDED_BY(lock) DEDUPFS_THREAD_ANNOTATION(pt_guarded_by(lock))

// On locks: which other locks are taken later, or earlier, by a thread that takes both.
#define DEDUPFS_ACQUIRED_BEFORE(...) DEDUPFS_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define DEDUPFS_ACQUIRED_AFTER(...) DEDUPFS_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// On functions and lambdas: the caller holds the lock, or has it shared; the caller must not hold it, since the function takes it.
#define DEDUPFS_REQUIRES(...) DEDUPFS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define DEDUPFS_REQUIRES_SHARED(...) DEDUPFS_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define DEDUPFS_EXCLUDES(...) DEDUPFS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// On functions that lock and unlock. DEDUPFS_RELEASE_GENERIC is for a destructor that does not know how the lock is held.
#define DEDUPFS_ACQUIRE(...) DEDUPFS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define DEDUPFS_ACQUIRE_SHARED(...) DEDUPFS_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define DEDUPFS_RELEASE(...) DEDUPFS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define DEDUPFS_RELEASE_SHARED(...) DEDUPFS_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define DEDUPFS_RELEASE_GENERIC(...) DEDUPFS_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define DEDUPFS_TRY_ACQUIRE(...) DEDUPFS_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define DEDUPFS_TRY_ACQUIRE_SHARED(...) DEDUPFS_THREAD_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))

// The function does nothing; from here on the analysis believes that the lock is held. For lambdas that run under a lock.
#define DEDUPFS_ASSERT_CAPABILITY(lock) DEDUPFS_THREAD_ANNOTATION(assert_capability(lock))
#define DEDUPFS_ASSERT_SHARED_CAPABILITY(lock) DEDUPFS_THREAD_ANNOTATION(assert_shared_capability(lock))

// The function returns this lock.
#define DEDUPFS_RETURN_CAPABILITY(lock) DEDUPFS_THREAD_ANNOTATION(lock_returned(lock))

// The analysis cannot follow the function. Needs a reason in a comment beside it.
#define DEDUPFS_NO_THREAD_SAFETY_ANALYSIS DEDUPFS_THREAD_ANNOTATION(no_thread_safety_analysis)
