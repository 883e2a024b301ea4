# By tag and digest, so that it is the same image every time. For a newer one, `docker buildx imagetools inspect
# node:26-slim` prints the digest: --build-arg NODE_IMAGE=node:26-slim@sha256:…
ARG NODE_IMAGE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

# The first stage brings the production packages; nothing is compiled.
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its own Node: the runtime that npm scripts use in a checkout (an optional package) stays out. The list
# of packages is of what is installed: by the lock file, npm leaves out one that a development package may use as well.
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
# The signal that opens Node's debugger is not even listened for.
ENV NODE_OPTIONS=--disable-sigusr1
# What V8's threads give back goes to one heap, not to one of each thread: 15 MiB less.
ENV MALLOC_ARENA_MAX=1
# Nobody installs anything in a running container.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=packages /app/sbom.cdx.json /app/
COPY package.json LICENSE /app/
COPY config /app/config
COPY src /app/src
COPY --from=packages --chown=node:node --chmod=700 /cache /app/cache
# The store's default, sqlite:data/nestwatch.db, lies here: the only place that is written, so that the rest runs
# with a read-only root: docker run --read-only --tmpfs /tmp -v nestwatch:/var/lib/nestwatch …
COPY --from=packages --chown=node:node /state /var/lib/nestwatch
WORKDIR /var/lib/nestwatch
VOLUME /var/lib/nestwatch
USER node
# Fills the cache of what was compiled, which is the user's own: a start is faster, and its memory holds no compiler.
RUN ["node", "/app/src/main.ts", "demo", "--for", "1s"]
EXPOSE 9465
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "/app/src/main.ts", "healthcheck", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
# Node itself is process 1: it listens for this signal and ends what is under way, and has no children to look after,
# so that no init is needed.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["run", "--config.file", "/etc/nestwatch/nestwatch.yaml"]
