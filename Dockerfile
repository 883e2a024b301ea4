# The base image is pinned by tag and digest. To use a newer one, get its digest with `docker buildx imagetools inspect
# node:26-slim` and build with --build-arg NODE_IMAGE=node:26-slim@sha256:…
ARG NODE_IMAGE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

# The first stage installs the production packages; nothing is compiled.
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its own Node, so the runtime that npm scripts use in a checkout (an optional package) is left out. The
# SBOM is made from the installed packages: from the lock file, npm would omit one that a development package also uses.
RUN npm ci --omit=dev --omit=optional --ignore-scripts && mkdir -p -m 700 /state/data /cache \
  && npm pkg delete devDependencies optionalDependencies && npm sbom --sbom-format=cyclonedx > sbom.cdx.json

FROM ${NODE_IMAGE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="nestwatch" \
  org.opencontainers.image.description="Monitoring and alerting for Birds and Flights: every failure seen once, sent soon, with its reason" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.revision=$REVISION
ENV NODE_ENV=production NESTWATCH_REVISION=$REVISION NODE_COMPILE_CACHE=/app/cache
# Node does not listen for SIGUSR1, the signal that opens its debugger.
ENV NODE_OPTIONS=--disable-sigusr1
# All threads share one heap of the C library instead of one each, which saves 15 MiB.
ENV MALLOC_ARENA_MAX=1
# Package managers are not needed in a running container.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=packages /app/sbom.cdx.json /app/
COPY package.json LICENSE /app/
COPY config /app/config
COPY src /app/src
COPY --from=packages --chown=node:node --chmod=700 /cache /app/cache
# The default store, sqlite:data/nestwatch.db, is in this folder. Nothing else is written, so the root file system can be
# read-only: docker run --read-only --tmpfs /tmp -v nestwatch:/var/lib/nestwatch …
COPY --from=packages --chown=node:node /state /var/lib/nestwatch
WORKDIR /var/lib/nestwatch
VOLUME /var/lib/nestwatch
USER node
# Fills the compile cache, which belongs to this user: the daemon starts faster, and uses less memory because it does not
# load the TypeScript compiler.
RUN ["node", "/app/src/main.ts", "demo", "--for", "1s"]
EXPOSE 9465
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "/app/src/main.ts", "healthcheck", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
# Node runs as process 1. It handles this signal by finishing its work, and waits for the only child process that it may
# have (a change of the store's tables), so no init is needed.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["run", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
