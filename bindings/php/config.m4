dnl The extension `fencehold`, on top of the C library of the same name.
dnl   --with-fencehold           the library that pkg-config finds
dnl   --with-fencehold=PREFIX    the one that ffi/install.sh put into PREFIX

PHP_ARG_WITH([fencehold],
  [for fencehold],
  [AS_HELP_STRING([--with-fencehold[=PREFIX]], [Include fencehold, leases with fencing tokens])],
  [yes])

if test "$PHP_FENCEHOLD" != "no"; then
  if test -z "$PKG_CONFIG"; then
    AC_PATH_PROG([PKG_CONFIG], [pkg-config], [no])
  fi
  fencehold_path="$PKG_CONFIG_PATH"
  if test "$PHP_FENCEHOLD" != "yes"; then
    dnl What is found there or nothing: not another one that pkg-config knows as well.
    fencehold_path="$PHP_FENCEHOLD/no-such-place"
    for fencehold_dir in "$PHP_FENCEHOLD"/lib/pkgconfig "$PHP_FENCEHOLD"/lib64/pkgconfig "$PHP_FENCEHOLD"/lib/*/pkgconfig; do
      if test -f "$fencehold_dir/fencehold.pc"; then
        fencehold_path="$fencehold_dir:$PKG_CONFIG_PATH"
        break
      fi
    done
    if test ! -f "${fencehold_path%%:*}/fencehold.pc"; then
      AC_MSG_ERROR([there is no fencehold library in $PHP_FENCEHOLD. Build it with ffi/install.sh $PHP_FENCEHOLD])
    fi
  fi
  AC_MSG_CHECKING([for the fencehold library])
  if ! PKG_CONFIG_PATH="$fencehold_path" "$PKG_CONFIG" --exists fencehold; then
    AC_MSG_ERROR([not found. Build it with ffi/install.sh PREFIX and pass --with-fencehold=PREFIX])
  fi
  fencehold_cflags=`PKG_CONFIG_PATH="$fencehold_path" "$PKG_CONFIG" --cflags fencehold`
  fencehold_libs=`PKG_CONFIG_PATH="$fencehold_path" "$PKG_CONFIG" --libs fencehold`
  fencehold_version=`PKG_CONFIG_PATH="$fencehold_path" "$PKG_CONFIG" --modversion fencehold`
  AC_MSG_RESULT([$fencehold_version])
  PHP_EVAL_INCLINE([$fencehold_cflags])
  PHP_EVAL_LIBLINE([$fencehold_libs], [FENCEHOLD_SHARED_LIBADD])
  PHP_SUBST([FENCEHOLD_SHARED_LIBADD])
  PHP_NEW_EXTENSION([fencehold],
    [fencehold.c client.c lock.c transaction.c kv.c values.c errors.c durations.c],
    [$ext_shared],,
    [-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers])
  PHP_ADD_EXTENSION_DEP([fencehold], [json])
  PHP_ADD_EXTENSION_DEP([fencehold], [spl])
fi
