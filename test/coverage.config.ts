/**
 * `npm run coverage`: nestwatch's promises are kept in these files, so tests must take every branch of them. A branch
 * that is not taken makes the run fail.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const intake = [
  'logs/sweep',
  'logs/log-stream',
  'logs/page-reader',
  'logs/sorted-page',
  'audit/audit',
  'audit/audit-round',
  'audit/audit-window',
  'flights/flight-watch',
  'flights/flight-findings',
  'flights/flight-windows',
  'flights/open-flights',
  'flights/flight-logs',
  'flights/flight-rescan',
  'flights/flight-gaps',
  'columns',
  'schedule/schedule',
  'schedule/poll-value',
  'schedule/recall',
].map((name) => `src/intake/${name}.ts`);
const service = ['pace', 'rate', 'breaker'].map((name) => `src/service/${name}.ts`);
const delivery = ['outbox', 'retry'].map((name) => `src/delivery/${name}.ts`);

export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    include: [
      'test/intake/**/*.test.ts',
      'test/service/*.test.ts',
      'test/delivery/*.test.ts',
      'test/acceptance/completeness.long.test.ts',
    ],
    setupFiles: ['test/property-seed.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    allowOnly: false,
    passWithNoTests: false,
    coverage: {
      provider: 'v8',
      include: [...intake, ...service, ...delivery],
      reporter: ['text'],
      reportOnFailure: true,
      thresholds: { branches: 100 },
    },
  },
});
