import { expect, test } from 'vitest';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { Happening } from '../../src/report.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';
import { NOTHING, textOf } from './scraped.ts';

const beat = (outcome: 'sent' | 'failed' | 'silent', reason = ''): Happening => ({
  ...{ what: 'heartbeat', outcome, reason, atUs: TEST_START_US },
});

test('the log reports the heartbeat once for each change, with the reason', () => {
  const lines: { level: string; message: string; reason?: string }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', format: 'json', stream, clock: createVirtualClock() });
  const down = beat('silent', 'region eu does not answer');
  for (const one of [
    down,
    down,
    beat('silent', 'region us does not answer'),
    beat('sent'),
    beat('sent'),
    beat('failed', 'it answered 404'),
    beat('sent'),
  ]) {
    log.report(one);
  }
  expect(lines.map(({ level, message, reason = '' }) => [level, message, reason])).toEqual([
    ['warn', 'The heartbeat is not sent', 'region eu does not answer'],
    ['warn', 'The heartbeat is not sent', 'region us does not answer'],
    ['info', 'The heartbeat is sent', ''],
    ['warn', 'The heartbeat was not accepted', 'it answered 404'],
    ['info', 'The heartbeat is sent', ''],
  ]);
});

test('the metrics count what was accepted, and when', async () => {
  const metrics = createMetrics({
    ...{
      version: '1',
      revision: '',
      nodeVersion: '',
      clock: createVirtualClock(),
      regions: [],
      operations: [],
    },
    receivers: [],
    rules: [],
    collect: async () => NOTHING,
    longestTurnMs: () => 0,
    processMetrics: false,
  });
  const shown = async () => (await textOf(metrics.render())).match(/^nestwatch_heartbeat_\S+ \S+$/gm);
  expect(await shown()).toEqual([
    'nestwatch_heartbeat_sent_total 0',
    'nestwatch_heartbeat_last_success_timestamp_seconds 0',
  ]);
  for (const one of [beat('silent', 'x'), beat('sent'), beat('failed', 'x'), beat('sent'), beat('sent')])
    metrics.report(one);
  expect(await shown()).toEqual([
    'nestwatch_heartbeat_sent_total 3',
    `nestwatch_heartbeat_last_success_timestamp_seconds ${TEST_START_US / 1e6}`,
  ]);
});
