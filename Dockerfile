# The program with what it needs to run: Debian 12, without a package manager and what only installing takes.
#   docker build -t parley:0.1.0 .
#   docker run --rm parley:0.1.0 serve --help
# It runs as user 10001 with a read-only root: it writes to /var/lib/parley (a volume) and /tmp (a tmpfs) only.
FROM docker.io/library/debian:bookworm-slim AS build
WORKDIR /src
COPY cmake/deps/build.txt cmake/deps/
RUN apt-get update \
 && sed -nE 's/^([a-z0-9.+-]+) .*/\1/p' cmake/deps/build.txt | grep -vxE 'redis-server|poppler-data|poppler-utils|curl' \
  | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/*
# Only what the build reads, so that another change does not build all of it again.
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY docs/handbook docs/handbook
COPY docs/operations docs/operations
COPY lua lua
COPY shared shared
COPY services services
RUN cmake --preset release && cmake --build --preset release --target parley && strip -o /parley build/release/parley

FROM docker.io/library/debian:bookworm-slim AS root
COPY deploy/packages.txt deploy/image-root.sh /tmp/
RUN apt-get update \
 && sed -nE 's/^([a-z0-9.+-]+) .*/\1/p' /tmp/packages.txt >/tmp/packages \
 && DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends </tmp/packages \
 && useradd --uid 10001 --no-create-home --home-dir /var/lib/parley --shell /usr/sbin/nologin parley
COPY --from=build /parley /root/image/usr/local/bin/parley
RUN cd / \
 && sh /tmp/image-root.sh /root/image base-files base-passwd coreutils dash grep libc-bin sed $(cat /tmp/packages) \
 && install -d -o parley -g parley -m 700 /root/image/var/lib/parley
COPY deploy/make-accounts.sh /root/image/usr/local/bin/make-accounts
COPY deploy/compose/setup.sh /root/image/usr/local/bin/compose-setup
COPY deploy/compose/ready.sh /root/image/usr/local/bin/compose-ready
COPY deploy/compose/node.sh /root/image/usr/local/bin/compose-node
COPY deploy/compose/redis.acl /root/image/usr/local/share/parley/redis.acl
COPY docs/handbook /root/image/usr/local/share/parley/handbook
COPY docs/operations /root/image/usr/local/share/parley/handbook/operations

FROM scratch
LABEL org.opencontainers.image.title="Parley" \
      org.opencontainers.image.description="The public, load-balanced front end for private inference engines" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0"
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY --from=root /root/image /
# By number: Kubernetes proves that a user is not root by its number alone.
USER 10001:10001
WORKDIR /var/lib/parley
EXPOSE 8080
ENTRYPOINT ["parley"]
CMD ["--help"]
