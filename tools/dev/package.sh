# Part of ./dev: builds what is installed, packs it, and uses it as someone would who has no sources.
# shellcheck shell=bash disable=SC2034,SC2154

package() {
  set_up_build
  packages "pkg-config" pkg-config || true
  packages "an old processor" qemu-user || true
  find_nvcc || true
  configure package
  cmake --build --preset package -j "$jobs"
  ctest --preset package -j "$jobs" --no-tests=error
  rm -rf build/packages && mkdir -p build/packages
  if have dpkg-deb; then
    cp build/package/tests/package/deb/made/*.deb build/packages/
    say "packages:" build/packages/*.deb
  fi
}
