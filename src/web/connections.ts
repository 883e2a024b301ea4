/** How many connections the daemon's own HTTP takes, so that the watch keeps sockets and files for itself. */
import type { Server } from 'node:http';
import { LIMITS } from '../limits.ts';

/** When the server closes connections by itself. */
export const CONNECTION_TIMES = {
  /** From the connection, or the request before, until the head of a request is there, and until all of it is. */
  headersTimeout: 30_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
};

/** Where the system does not say how many files a process may open: the usual bound of a login shell. */
const USUAL_OPEN_FILES = 1024;

/** Bounds what `server` takes; `refused` is called for each connection beyond. */
export function boundConnections(server: Server, openFiles: number, refused: () => void): void {
  server.maxConnections = mostConnections(openFiles);
  server.on('drop', refused);
}

/** A quarter of the files that may be open, and at least one connection. */
export function mostConnections(openFiles: number): number {
  return Math.max(1, Math.min(LIMITS.web_connections.most, Math.floor(openFiles / 4)));
}

/** How many files the process may have open at once. */
export function openFilesAllowed(): number {
  // It would look up the names of all machines that the process is connected with.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as
    | { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
    | undefined;
  const soft = report?.userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY;
  return typeof soft === 'number' || typeof soft === 'string' ? Number(soft) : USUAL_OPEN_FILES;
}
