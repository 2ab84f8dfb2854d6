# The program with what it needs to run, and nothing that builds it.
#   docker build -t parley:0.1.0 .
#   docker run parley:0.1.0 serve --help
FROM docker.io/library/debian:bookworm-slim AS build
WORKDIR /src
COPY cmake/deps/build.txt cmake/deps/
RUN apt-get update \
 && sed -nE 's/^([a-z0-9.+-]+) .*/\1/p' cmake/deps/build.txt | grep -vxE 'redis-server|poppler-utils|curl' \
  | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release && cmake --build --preset release && strip -o /parley build/release/parley

FROM docker.io/library/debian:bookworm-slim
COPY deploy/packages.txt /tmp/
RUN apt-get update \
 && sed -nE 's/^([a-z0-9.+-]+) .*/\1/p' /tmp/packages.txt \
  | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/packages.txt \
 && useradd --uid 10001 --no-create-home --home-dir /var/lib/parley parley \
 && install -d -o parley -g parley -m 700 /var/lib/parley
COPY --from=build /parley /usr/local/bin/parley
COPY deploy/make-accounts.sh /usr/local/bin/make-accounts
COPY docs/handbook /usr/local/share/parley/handbook
USER parley
WORKDIR /var/lib/parley
EXPOSE 8080
ENTRYPOINT ["parley"]
CMD ["--help"]
