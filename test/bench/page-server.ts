/**
 * A service that only answers pages of Bird logs as fast as it can, in a separate process, so that the benchmarks
 * measure the reader. Every body is joined from entries that are rendered once.
 */
import { createServer } from 'node:http';

/** Entries of each stream. They are a second apart, so pages with a new anchor overlap by one or two entries. */
export const ENTRIES_PER_STREAM = 50_000;
export const FIRST_ENTRY_US = Date.UTC(2026, 0, 1) * 1000;
const SPACING_US = 1_000_000;

function render(index: number): string {
  const ms = (FIRST_ENTRY_US + index * SPACING_US) / 1000;
  const time = ms.toString(16).padStart(12, '0');
  const serial = index.toString(16).padStart(12, '0');
  return JSON.stringify({
    id: `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${serial}`,
    createdAt: `${new Date(ms).toISOString().slice(0, -1)}417Z`,
    workspaceId: 682,
    workflowId: 148890,
    // One entry in ten is a failure, on which alerts are decided. The rest are Birds saved and published by people.
    ...(index % 10 === 0
      ? {
          eventType: 'EventError',
          message:
            'The event could not be handled: the content service answered with status 502\n   at Poll (line 12)',
          eventFailedBy: 'EventInvocation',
          errorType: 'PluginUnhandled',
        }
      : {
          eventType: index % 3 === 0 ? 'Published' : 'Saved',
          message:
            'The Bird "Translate blog to fourteen languages" was saved by a member of its Nest, with comment',
          initiator: 'anna.kowalska@example.com',
        }),
  });
}

function servePages(): void {
  const entries = Array.from({ length: ENTRIES_PER_STREAM }, (_, index) => render(index));
  const server = createServer((request, response) => {
    const query = new URLSearchParams(request.url!.slice(request.url!.indexOf('?') + 1));
    const pageSize = Number(query.get('pageSize') ?? 100);
    const fromUs = query.has('from') ? Date.parse(query.get('from')!) * 1000 : 0;
    const first = Math.max(0, Math.ceil((fromUs - FIRST_ENTRY_US) / SPACING_US));
    const start = first + Number(query.get('page') ?? 0) * pageSize;
    const items = entries.slice(start, start + pageSize).join(',');
    const totalCount = Math.max(0, ENTRIES_PER_STREAM - first);
    response.setHeader('content-type', 'application/json');
    response.end(
      `{"items":[${items}],"totalCount":${totalCount},"page":${query.get('page') ?? 0},"pageSize":${pageSize}}`,
    );
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address && typeof address === 'object') process.send?.({ port: address.port });
  });
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'serve') servePages();
