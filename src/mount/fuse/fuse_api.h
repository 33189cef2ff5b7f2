// libfuse's low-level interface, in the one version that all of this folder compiles against.
//
// What newer libraries have besides is compiled in where their headers have it (FUSE_VERSION). Such a program runs with an older library, too: that
// one takes from the table of operations what it knows. From 3.17 on the library has another soname, so a program that was built with 3.17 or
// newer runs with 3.17 or newer.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
