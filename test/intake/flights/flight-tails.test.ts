/** The ends of logs, from the service's answer to the Flight's row. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { createFlightTails, type FlightTails } from '../../../src/intake/flights/flight-logs.ts';
import { formatInstant } from '../../../src/time/instant.ts';
import { TEST_START_US } from '../../virtual-clock.ts';
import { type FlightStage, HOUR_US, MINUTE_US, openFlightStage, SECOND_US } from './flight-stage.ts';

let stage: FlightStage;
let tails: FlightTails;
beforeEach(async () => {
  stage = await openFlightStage();
  tails = createFlightTails({
    ...{ region: 'eu', client: stage.client, store: stage.store, clock: stage.clock },
    nestOf: () => stage.bird.nestId,
    pageSize: () => 100,
  });
});
afterEach(() => stage.close());

/** Flights that started an hour ago, whose logs are wanted; the first has been silent longest. */
async function wanted(...names: string[]): Promise<void> {
  for (const [at, name] of names.entries()) stage.show(name, 3600 - at);
  await stage.watch.poll();
  await stage.store.transaction(async (tx) => {
    const found = await tx.overdue.flights(Infinity, Infinity, 100);
    await tx.overdue.judgeFlights(
      found.map((one) => ({ ...one, nextUs: Number.MAX_SAFE_INTEGER, logDueUs: stage.clock.nowUs() })),
    );
  });
  stage.takeAsked();
}

const rows = () => stage.store.overdue.flights(Infinity, Infinity, 100);
const entry = (minutesAgo: number, fields: Record<string, unknown>) => ({
  ...{ id: `e${minutesAgo}`, workspaceId: 1, flowInstanceId: 'f' },
  createdAt: formatInstant(TEST_START_US - minutesAgo * MINUTE_US),
  ...fields,
});

describe('the newest entry', () => {
  test.each([
    ['of a step', [entry(9, { eventType: 4, scope: 'A' }), entry(30, { eventType: 1 })], 'log', 'A', 9],
    [
      'in another order',
      [entry(30, { eventType: 1 }), entry(9, { eventType: 4, scope: 'A' })],
      'log',
      'A',
      9,
    ],
    [
      'of several of one instant, of which the service lists the newest first',
      [entry(9, { eventType: 4, scope: 'B' }), entry(9, { eventType: 4, scope: 'A' })],
      'log',
      'B',
      9,
    ],
    ['of a sort that is not known', [entry(9, { eventType: 17, scope: 'A' })], 'other', 'A', 9],
    ['after an end', [entry(2, { eventType: 2 }), entry(9, { eventType: 4, scope: 'A' })], 'end', '', 2],
    ['that is readable', [entry(9, { eventType: 1 }), { id: 5, createdAt: 'never' }], 'start', '', 9],
    ['with hostile text', [entry(9, { eventType: 4, scope: 'A\u202e\n\u0000b' })], 'log', 'A b', 9],
  ] as const)('%s [long]', async (_what, log, sort, scope, minutesAgo) => {
    await wanted('a');
    stage.answers.log = log;
    expect(await tails.isDue()).toBe(true);
    expect(await tails.turn()).toEqual({ requests: 1, more: false });
    expect(await tails.isDue()).toBe(false);
    expect((await rows())[0]!.tail).toMatchObject({
      ...{ sort, scope, wroteAtUs: TEST_START_US - minutesAgo * MINUTE_US },
      ...{ readAtUs: TEST_START_US, resumedAtUs: 0 },
    });
  });

  test('of an empty log is none', async () => {
    await wanted('a');
    await tails.turn();
    expect((await rows())[0]!.tail).toMatchObject({ wroteAtUs: 0, sort: 'other', scope: '' });
  });

  test("is as old as it is by the service's clock", async () => {
    await wanted('a');
    Object.assign(stage.answers, { aheadUs: 3 * HOUR_US, log: [entry(9, { eventType: 1 })] });
    await tails.turn();
    const [{ tail, logDueUs } = expect.fail()] = await rows();
    expect(tail!.readAtUs).toBe(TEST_START_US + 3 * HOUR_US);
    expect(logDueUs).toBe(TEST_START_US + HOUR_US);
  });
});

test('a log is read every hour, then each 2, 4 and 6 hours, and every hour again once something was written', async () => {
  await wanted('a');
  stage.answers.log = [entry(9, { eventType: 4, scope: 'A' })];
  const waits: number[] = [];
  for (let reading = 0; reading < 6; reading += 1) {
    await tails.turn();
    const { logDueUs } = (await rows())[0]!;
    waits.push((logDueUs - stage.clock.nowUs()) / HOUR_US);
    await stage.pass((logDueUs - stage.clock.nowUs()) / SECOND_US);
  }
  expect(waits).toEqual([1, 2, 4, 6, 6, 6]);
  // What was written first after the last reading is when it went on.
  const log = [entry(-200, { eventType: 4, scope: 'C' }), entry(-100, { eventType: 4, scope: 'B' })];
  stage.answers.log = [...log, ...stage.answers.log];
  await tails.turn();
  const [{ tail, logDueUs } = expect.fail()] = await rows();
  expect(tail).toMatchObject({ scope: 'C', resumedAtUs: TEST_START_US + 100 * MINUTE_US });
  expect(logDueUs - stage.clock.nowUs()).toBe(HOUR_US);
});

test('a turn reads five, those that have been silent longest first', async () => {
  await wanted('a', 'b', 'c', 'd', 'e', 'f');
  expect(await tails.turn()).toEqual({ requests: 5, more: true });
  expect((await rows()).map(({ tail }) => tail !== null)).toEqual([true, true, true, true, true, false]);
  expect(await tails.turn()).toEqual({ requests: 1, more: false });
});

test.each(['not_found', 'forbidden', 'unexpected_shape'] as const)(
  'a log that is refused with %s is asked for again six hours later, and others go on',
  async (code) => {
    await wanted('a');
    stage.answers.trouble = { log: new NestwatchError(code, 'refused') };
    expect(await tails.turn()).toEqual({ requests: 1, more: false });
    expect((await rows())[0]).toMatchObject({ tail: null, logDueUs: TEST_START_US + 6 * HOUR_US });
  },
);

test('while the region fails, nothing is put off, and nothing is asked', async () => {
  await wanted('a', 'b');
  stage.answers.trouble = { log: new NestwatchError('rate_limited', 'slower') };
  expect(await tails.turn()).toEqual({ requests: 0, more: false });
  expect((await rows()).map(({ logDueUs }) => logDueUs)).toEqual([TEST_START_US, TEST_START_US]);
  expect(stage.takeAsked()).toEqual(['log']);
  stage.answers.trouble = {};
  stage.answers.health = 'down';
  expect(await tails.isDue()).toBe(false);
  Object.assign(stage.answers, { health: 'up', pausedMs: 1_000 });
  expect(await tails.isDue()).toBe(false);
  stage.answers.pausedMs = 0;
  expect(await tails.isDue()).toBe(true);
});
