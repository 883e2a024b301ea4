/** Flights that wait for a person: the service says only what they last wrote to their logs. */

import { expect, test } from 'vitest';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { rule } from '../domain/world.ts';
import { wroteStep } from '../simulator/wrote-step.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

const HOUR = 60;
const HOUR_MS = 3_600_000;
const REVIEWS = rule('FlightWaiting', { steps: ['*review*'], afterMs: 2 * HOUR_MS });
const LIMIT = rule('FlightStuck', { maxDurationMs: HOUR_MS / 2 });

async function oneBird(rules: readonly Rule[], options: StageOptions = {}) {
  stage = await createStage({
    regions: ['eu'],
    // Rare polls, so that days pass quickly.
    poll: { intervalMs: 120_000, inventoryIntervalMs: 1_800_000, auditIntervalMs: 86_400_000 },
    rules,
    nests: { 'Customer 4': ['Translate blog'] },
    ...options,
  });
  await stage.minutesPass(1);
  return { world: stage.eu, birdId: stage.bird('Translate blog') };
}

const received = () => stage.told();
const last = () => stage.received().at(-1)!.alerts[0]!;
const logRequests = () =>
  stage.happenings.filter((one) => one.what === 'request' && one.operation === 'getFlightLogs').length;

test('a Flight that waits for a person is told with its step, and when it goes on [long]', async () => {
  const { world, birdId } = await oneBird([REVIEWS]);
  const { id } = world.startFlight(birdId);
  await stage.minutesPass(3 * HOUR - 2);
  expect(received()).toEqual([]);
  await stage.minutesPass(HOUR + 5);
  expect(received()).toEqual(['FlightWaiting firing']);
  expect(last().labels).toMatchObject({ step: 'Wait for review', nest: 'Customer 4', severity: 'info' });
  expect(last().annotations.description).toBe(
    `Waits since 2 Jul 2026, 13:01 UTC (2 h); last wrote in step "Wait for review". Flight ${id}, started 2 Jul 2026, 12:01 UTC.`,
  );
  const { notification } = stage.mails.at(-1)!;
  expect(mailMessage(notification, 'http://n.example', undefined).text).toMatch(
    /^Waiting: Translate blog, step Wait for review\nEU · Customer 4 · since 2 Jul 2026, 13:01 UTC, for 2 h( 1 min)?\n/,
  );
  await stage.minutesPass(20 * HOUR);
  // It was read every hour, then each 2, 4 and 6 hours.
  expect(logRequests()).toBe(6);
  wroteStep(world, id, 'Publish');
  await stage.minutesPass(1);
  wroteStep(world, id, 'Send mail');
  await stage.minutesPass(6 * HOUR);
  const resolved = last();
  expect(resolved).toMatchObject({ status: 'resolved' });
  expect(resolved.annotations.resolved_by).toBe('went on at 3 Jul 2026, 12:04 UTC, after 23 h 3 min');
});

test('one that has waited for `after` when it is first seen is told within seconds [long]', async () => {
  const soon = { poll: { intervalMs: 1_000, minIntervalMs: 500, auditIntervalMs: 86_400_000 } };
  const afterAMinute = rule('FlightWaiting', { steps: ['*review*'], afterMs: 60_000 });
  const { world, birdId } = await oneBird([afterAMinute], soon);
  await stage.minutesPass(4);
  const startedAtUs = world.nowUs() - 90_000_000;
  const { id } = world.startFlight(birdId, { startedAtUs });
  const fields = { message: 'done', eventType: 4, stepId: '9', scope: 'Wait for review' };
  world.appendFlightLog(id, { createdAtUs: startedAtUs + 1_000_000, fields });
  await stage.secondsPass(30);
  expect(received()).toEqual(['FlightWaiting firing']);
});

test('a restart brings no second message, and the next reading comes when it would have [long]', async () => {
  const { world, birdId } = await oneBird([REVIEWS]);
  world.startFlight(birdId);
  await stage.minutesPass(4 * HOUR);
  expect(received()).toEqual(['FlightWaiting firing']);
  const requests = logRequests();
  await stage.restart();
  await stage.minutesPass(30);
  await stage.restart();
  await stage.minutesPass(20);
  expect(received()).toEqual(['FlightWaiting firing']);
  expect(logRequests()).toBe(requests);
});

test('it ends with its Flight [long]', async () => {
  const { world, birdId } = await oneBird([REVIEWS]);
  const { id } = world.startFlight(birdId);
  await stage.minutesPass(4 * HOUR);
  world.endFlight(id, 'succeeded');
  await stage.minutesPass(5);
  expect(received()).toEqual(['FlightWaiting firing', 'FlightWaiting resolved']);
  expect(last().annotations.resolved_by).toMatch(/^the Flight succeeded on .*, after 3 h$/);
});

test('one that hangs elsewhere is stuck, and the first message says in which step [long]', async () => {
  const { world, birdId } = await oneBird([REVIEWS, LIMIT]);
  world.startFlight(birdId);
  await stage.minutesPass(36);
  expect(received()).toEqual(['FlightStuck firing']);
  expect(last().annotations.description).toBe(
    'Active since 2 Jul 2026, 12:01 UTC, for more than 30 min. The rule allows no longer. It last wrote at 2 Jul 2026, 12:01 UTC, in step Translate. Cancel it in the service if it hangs.',
  );
  expect(logRequests()).toBe(1);
});

test('one that waits is not stuck as well [long]', async () => {
  const { world, birdId } = await oneBird([REVIEWS, LIMIT]);
  const { id } = world.startFlight(birdId);
  await stage.minutesPass(5);
  wroteStep(world, id, 'Wait for review');
  await stage.minutesPass(4 * HOUR);
  expect(received()).toEqual(['FlightWaiting firing']);
});

test('a log that the service refuses is asked for again six hours later, and FlightStuck says so little [long]', async () => {
  const refuse = { isRefusing: true };
  const { world, birdId } = await oneBird([REVIEWS, LIMIT], {
    between: async ({ url }, pass) =>
      refuse.isRefusing && /\/flights\/[^/?]+\/logs/.test(url)
        ? { status: 404, headers: {}, body: '{}' }
        : pass(),
  });
  world.startFlight(birdId);
  await stage.minutesPass(35);
  expect(received()).toEqual(['FlightStuck firing']);
  expect(last().annotations.description).toContain('Check in the service which step it is at');
  await stage.minutesPass(5 * HOUR);
  expect(logRequests()).toBe(1);
  refuse.isRefusing = false;
  await stage.minutesPass(2 * HOUR);
  // What is read then explains the Flight.
  expect(received()).toEqual(expect.arrayContaining(['FlightWaiting firing', 'FlightStuck resolved']));
});

test('nothing is read of Flights that nobody asks about [long]', async () => {
  const { world, birdId } = await oneBird([]);
  world.startFlight(birdId);
  await stage.minutesPass(10 * HOUR);
  expect([logRequests(), ...received()]).toEqual([0]);
});

/** Failures in a region whose rate is used up by polls, in which a Flight of each Bird waits. */
async function manyWait(birds: number, minutes: number, rules: readonly Rule[]) {
  const birdIds: string[] = [];
  const random = seededRandom(3);
  stage = await createStage({
    regions: ['eu'],
    requestsPerSecond: birds / 75,
    poll: { auditIntervalMs: HOUR_MS },
    rules,
    before(world) {
      const nest = world.addNest({ name: 'Customers' });
      for (let at = 0; at < birds; at += 1) {
        birdIds.push(world.addBird(nest.id, { name: `Translate ${at}`, triggerType: 'event' }).id);
      }
      for (const birdId of birdIds) wroteStep(world, world.startFlight(birdId).id, 'Wait for review');
    },
  });
  await stage.minutesPass(30);
  const before = stage.happenings.length;
  for (let minute = 0; minute < minutes; minute += 1) {
    const birdId = birdIds[Math.floor(random() * birds)]!;
    const fliesForMs = 10_000 + random() * 40_000;
    stage.eu.startFlight(birdId, { endsAs: 'failed', fliesForMs });
    await stage.minutesPass(1);
  }
  await stage.minutesPass(6);
  const delaysMs = stage
    .lake()
    .filter(({ id }) => id.endsWith('/failed'))
    .map(({ time, receivedAtUs }) => receivedAtUs / 1000 - Date.parse(time));
  const requests = stage.happenings.slice(before).filter((one) => one.what === 'request');
  return {
    failures: delaysMs.length,
    meanMs: delaysMs.reduce((sum, ms) => sum + ms, 0) / delaysMs.length,
    logs: requests.filter(({ operation }) => operation === 'getFlightLogs').length,
    requests: requests.length,
  };
}

test('many that wait cost few requests, and delay no failures [long]', async () => {
  const without = await manyWait(50, 40, []);
  await stage.close();
  const rules = [rule('FlightWaiting', { steps: ['*review*'], afterMs: HOUR_MS / 2 })];
  const { failures, meanMs, requests, ...read } = await manyWait(50, 40, rules);
  expect([without.failures, failures]).toEqual([40, 40]);
  // The logs of failures are read in both.
  const logs = read.logs - without.logs;
  expect(logs).toBeGreaterThan(33);
  expect(logs).toBeLessThanOrEqual(0.03 * requests);
  // In so few failures, the mean varies by a tenth.
  expect(meanMs / without.meanMs).toBeLessThan(1.2);
});
