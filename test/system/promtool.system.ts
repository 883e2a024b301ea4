/** The metrics, checked by Prometheus' own linter. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/observe/metrics.ts';
import { systemClock } from '../../src/time/clock.ts';
import { NOTHING, textOf } from '../observe/scraped.ts';

test('promtool accepts the metrics', async () => {
  const metrics = createMetrics({
    version: '0.1.0',
    revision: 'abc',
    nodeVersion: process.version,
    clock: systemClock(),
    regions: ['eu', 'us'],
    operations: ['searchNests'],
    receivers: [{ name: 'ops', integrations: [{ kind: 'email' }] }],
    rules: [{ kind: 'FlightFailed', severity: undefined }],
    collect: async () => ({
      ...NOTHING,
      firing: [{ alertname: 'FlightFailed', severity: 'critical', region: 'eu', nestId: '1', count: 1 }],
      alerts: [{ alertname: 'FlightFailed', severity: 'critical', state: 'firing', count: 1 }],
      silences: [{ state: 'active', count: 1 }],
      deliveries: [{ receiver: 'ops', state: 'dead', count: 1 }],
      reads: [{ region: 'eu', feed: 'flight', overdue: 1, oldestReadUs: 1.5e15 }],
      impaired: ['streams_overdue'],
      space: { used: 1, free: 2 },
    }),
    longestTurnMs: () => 0,
    processMetrics: true,
  });
  const bird = { nestId: '1', nest: 'a "quoted"\n\\ name', birdId: '2', bird: '名前', triggerType: 'manual' };
  metrics.report({ what: 'inventory', region: 'eu', birds: [{ ...bird, status: 'active' }] });
  metrics.report({ what: 'rate_limit', region: 'eu', requestsPerSecond: 5 });
  metrics.report({ what: 'suppressed', reason: 'too_old', count: 1 });
  metrics.report({ what: 'poll', region: 'eu', feed: 'flight', durationMs: 12.5, atUs: 1.5e15 });
  const body = await textOf(metrics.render());

  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
    input: body,
    encoding: 'utf8',
  });
  expect(error).toBeUndefined();
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
});
