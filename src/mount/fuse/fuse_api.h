// libfuse's low-level interface, in the one version that all of this folder compiles against.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
