// The clock of the tests of recipes. To a program that loads this, it is as many days later as the file /days_later has bytes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>

static time_t later(void) {
  struct stat status;
  return stat("/days_later", &status) == 0 ? status.st_size * 24 * 3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += later();
  return result;
}

time_t time(time_t* copy) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (copy) *copy = now.tv_sec;
  return now.tv_sec;
}
