# The base image is pinned by tag and digest. To use a newer one, get its digest with `docker buildx imagetools inspect
# node:26-slim` and build with --build-arg NODE_IMAGE=node:26-slim@sha256:…
ARG NODE_IMAGE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

# The first stage makes a few files of the program and its libraries (`test/package/bundle.ts`).
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY src ./src
COPY test/package ./test/package
# The SBOM is made from the installed packages: from the lock file, npm would omit one that a development package also
# uses. The image has its own Node, so the runtime that npm scripts use in a checkout (an optional package) is left out.
RUN node test/package/bundle.ts dist && mkdir -p -m 700 /state/data \
  && npm pkg delete devDependencies optionalDependencies && npm prune --ignore-scripts \
  && npm sbom --sbom-format=cyclonedx > sbom.cdx.json

FROM ${NODE_IMAGE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="nestwatch" \
  org.opencontainers.image.description="Monitoring and alerting for Birds and Flights: every failure seen once, sent soon, with its reason" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.revision=$REVISION
# A compile cache would take more memory than it saves time.
ENV NODE_ENV=production NESTWATCH_REVISION=$REVISION NODE_DISABLE_COMPILE_CACHE=1
# Node does not listen for SIGUSR1, the signal that opens its debugger.
ENV NODE_OPTIONS=--disable-sigusr1
# All threads share one heap of the C library instead of one each, which saves 15 MiB.
ENV MALLOC_ARENA_MAX=1
# Package managers are not needed in a running container.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
COPY --from=build /app/dist /app/dist
COPY --from=build /app/sbom.cdx.json /app/
COPY package.json LICENSE /app/
COPY config /app/config
# The default store, sqlite:data/nestwatch.db, is in this folder. Nothing else is written, so the root file system can be
# read-only: docker run --read-only --tmpfs /tmp -v nestwatch:/var/lib/nestwatch …
COPY --from=build --chown=node:node /state /var/lib/nestwatch
WORKDIR /var/lib/nestwatch
VOLUME /var/lib/nestwatch
USER node
EXPOSE 9465
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "/app/dist/nestwatch.mjs", "healthcheck", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
# Node runs as process 1. It handles this signal by finishing its work, and waits for the only child process that it may
# have (a change of the store's tables), so no init is needed.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/nestwatch.mjs"]
CMD ["run", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
