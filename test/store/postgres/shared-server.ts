/** One server for all files of a run on PostgreSQL (`test/postgres.vitest.config.ts`). */
import type { TestProject } from 'vitest/node';
import { findServer, startServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server on which stories keep their stores; absent if they keep them in memory. */
    readonly postgresUrl?: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bin = findServer();
  if (bin === undefined) throw new Error('PostgreSQL was not found: apt-get install postgresql');
  const server = await startServer(bin, ['max_connections=100']);
  project.provide('postgresUrl', server.url);
  return () => server.remove();
}
