import { expect, test } from 'vitest';
import { createDigests } from '../../src/alerting/send-digests.ts';
import type { Happening } from '../../src/report.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { hook, NOTHING_CONFIGURED } from './desk.ts';

test.each([
  ['Europe/Amsterdam', '30 2 * * *', '2026-03-28'],
  ['Europe/Amsterdam', '30 2 * * *', '2026-10-24'],
  ['Australia/Lord_Howe', '45 1 * * *', '2026-04-04'],
  ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03'],
])('in %s, the digest of %s comes once in the night after %s [long]', async (timezone, cron, day) => {
  const clock = createVirtualClock(Date.parse(`${day}T09:00Z`) * 1000);
  const store = await openMemory(clock);
  const nightly = { name: 'd', cron, timezone, receiver: 'ops', skipEmpty: false };
  const reported: Happening[] = [];
  const stop = new AbortController();
  const ended = createDigests({
    ...{ store, clock, config: { ...NOTHING_CONFIGURED, digests: [nightly] } },
    ...{ report: (one) => reported.push(one), queued: () => {}, regions: () => [] },
  }).run(stop.signal);
  await clock.advance(16 * 3_600_000);
  await expect.poll(() => reported).toMatchObject([{ what: 'notified', reason: 'digest' }]);
  stop.abort();
  await clock.advance(60_000);
  await ended;
});

test('a report of the month comes once, although our clock is set back to before its instant', async () => {
  const clock = createVirtualClock(Date.parse('2026-08-01T06:55Z') * 1000);
  const store = await openMemory(clock);
  await store.inventory.regionSince('eu', clock.nowUs() - 40 * 86_400e6);
  const report = { isForEachNest: false, isToMembers: false, isCountsOnly: false };
  const monthly = {
    name: 'm',
    cron: '0 7 1 * *',
    timezone: 'UTC',
    receiver: 'ops',
    skipEmpty: false,
    report,
  };
  const reported: Happening[] = [];
  const stop = new AbortController();
  const ended = createDigests({
    ...{ store, clock, config: { ...NOTHING_CONFIGURED, receivers: [hook('ops')], digests: [monthly] } },
    ...{ report: (one) => reported.push(one), queued: () => {} },
    regions: () => [{ region: 'eu', verifiedUntilUs: 0 }],
  }).run(stop.signal);
  await clock.advance(6 * 60_000);
  clock.stepWall(-300_000);
  await clock.advance(10 * 60_000);
  expect(reported).toEqual([
    { what: 'notified', receiver: 'ops', groupKey: 'digest:m', reason: 'digest', alerts: 0 },
  ]);
  stop.abort();
  await clock.advance(60_000);
  await ended;
});
