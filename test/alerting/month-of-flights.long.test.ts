/**
 * A month of the simulator's ordinary traffic, 100 Birds, after a month that shows what is usual: FlightSlow and
 * FlightsUnusual fire for next to nothing, and find what is planted.
 */
import { describe, expect, test } from 'vitest';
import { createOverdue } from '../../src/alerting/overdue.ts';
import type { Fact } from '../../src/domain/alert/fact.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { tick } from '../../src/domain/evaluate/decide.ts';
import { createCommit } from '../../src/intake/commit.ts';
import type { Happening } from '../../src/report.ts';
import { createScenario } from '../../src/simulator/story/scenario.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { writeDecision } from '../../src/store/change-alerts.ts';
import { say } from '../cases.ts';
import { rule } from '../domain/world.ts';
import { createTrial } from '../simulator/ask.ts';
import { bird, event } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const DAY_US = 24 * HOUR_US;
const LEARNED = 29;
const JUDGED = 30;

/** Midnight, at which the month that is judged begins. */
const MONTH_US = TEST_START_US - 12 * HOUR_US - (JUDGED - 1) * DAY_US;
const dayUs = (day: number) => MONTH_US + day * DAY_US;

interface Flown {
  readonly id: string;
  readonly birdId: string;
  readonly startedAtUs: number;
  readonly endedAtUs: number;
  readonly status: string;
}

/** What the simulator's Birds flew, in order of their ends. */
function ordinaryTraffic(seed: number): { birds: readonly string[]; flown: Flown[] } {
  const { world } = createTrial({}, seed);
  const scenario = createScenario(world, {
    random: seededRandom(seed),
    birds: 100,
    flightsPerHour: 150,
    historyMs: (LEARNED + JUDGED) * 86_400_000,
  });
  const flown = [...world.flights.values()].flatMap(({ id, birdId, startedAtUs, ends }) => {
    const end = ends.at(-1);
    if (!end || end.endedAtUs > TEST_START_US) return [];
    return [{ id, birdId, startedAtUs, endedAtUs: end.endedAtUs, status: end.status }];
  });
  return {
    birds: scenario.birds.map(({ id }) => id),
    flown: flown.sort((a, b) => a.endedAtUs - b.endedAtUs),
  };
}

/** Lets the month pass; returns the alerts that fired: what, about which Bird, and when. */
async function alertsIn(birds: readonly string[], flown: readonly Flown[], rules: readonly Rule[]) {
  const clock = createVirtualClock(MONTH_US);
  const store = await openMemory(clock);
  const streams = new Map<string, number>();
  const recordOf = ({ id, birdId, startedAtUs, endedAtUs, status }: Flown) => ({
    ...{ stream: streams.get(birdId)!, flightId: id, startedAtUs, endedAtUs, status, open: false, ends: 1 },
  });
  await store.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', MONTH_US - LEARNED * DAY_US);
    const known = { triggerType: 'event', statusSinceUs: MONTH_US - LEARNED * DAY_US };
    await tx.inventory.putBirds(birds.map((birdId) => bird(birdId, known)));
    for (const birdId of birds) streams.set(birdId, (await tx.streams.open('eu', 'flight', birdId)).stream);
    await tx.flights.put(flown.filter(({ endedAtUs }) => endedAtUs < MONTH_US).map(recordOf));
  });
  const commit = createCommit({ store, rules, forward: [], clock, report: () => {}, changed: () => {} });
  const overdue = createOverdue({
    ...{ rules, clock, flightsReadUs: () => clock.nowUs(), timeIntervals: new Map(), lookbackMs: 0 },
  });
  const fired: { alertname: string; birdId: string; atUs: number; alertId: string }[] = [];
  const note = (happenings: readonly Happening[]) => {
    for (const one of happenings) {
      if (one.what !== 'alert' || one.state !== 'firing') continue;
      const birdId = /bird\/(\d+)/.exec(one.alertId)?.[1] ?? '';
      fired.push({ alertname: one.alertname, birdId, atUs: clock.nowUs(), alertId: one.alertId });
    }
  };
  const month = flown.filter(({ endedAtUs }) => endedAtUs >= MONTH_US);
  let at = 0;
  let judgeMs = 0;
  for (let untilUs = MONTH_US + 15 * MINUTE_US; untilUs <= TEST_START_US; untilUs += 15 * MINUTE_US) {
    await clock.advance((untilUs - clock.nowUs()) / 1000);
    const landed: Flown[] = [];
    while (at < month.length && month[at]!.endedAtUs < untilUs) landed.push(month[at++]!);
    const landedFacts = landed.map(
      ({ id, birdId, endedAtUs, startedAtUs, status }): Fact => ({
        ...{ fact: 'event', historic: false },
        event: event(`${id}/${status}`, {
          ...{ birdId, bird: `Bird ${birdId}`, feed: 'flight', type: `flight.${status}`, message: '' },
          ...{ occurredAtUs: endedAtUs, observedAtUs: untilUs },
          attributes: { flight_id: id, started_at_us: startedAtUs },
        }),
      }),
    );
    await commit({ region: 'eu', flights: landed.map(recordOf), facts: landedFacts });
    const beganMs = performance.now();
    for (;;) {
      const { done, happenings, remember } = await store.transaction((tx) => overdue.judge(tx));
      remember?.();
      note(happenings);
      if (done === 0) break;
    }
    judgeMs += performance.now() - beganMs;
    await store.transaction(async (tx) => {
      const due = await tx.alerts.due(clock.nowUs(), 100);
      if (due.length > 0) {
        await writeDecision(tx, due, tick(due, rules, clock.nowUs()), rules, clock.nowUs());
      }
    });
  }
  await store.close();
  say(`judged ${month.length} Flights of ${birds.length} Birds in ${Math.round(judgeMs)} ms`);
  return fired;
}

describe('a month of ordinary traffic', () => {
  test('shows what is planted, each with its delay, and little else: neither day by day nor hour by hour [long]', async () => {
    const { birds, flown } = ordinaryTraffic(3);
    const [slow, runaway, silent] = [birds[4]!, birds[10]!, birds[20]!];
    const planted = flown.flatMap((one): Flown[] => {
      const { birdId, startedAtUs, endedAtUs } = one;
      if (birdId === slow && startedAtUs >= dayUs(10)) {
        return [{ ...one, endedAtUs: endedAtUs + 20 * MINUTE_US }];
      }
      if (birdId === silent && startedAtUs >= dayUs(20) && startedAtUs < dayUs(22)) return [];
      return [one];
    });
    for (let flight = 0; flight < 2000; flight += 1) {
      const startedAtUs = dayUs(15) + 9 * HOUR_US + flight * 10_000_000;
      const endedAtUs = startedAtUs + 5_000_000;
      planted.push({ id: `r${flight}`, birdId: runaway, startedAtUs, endedAtUs, status: 'succeeded' });
    }
    planted.sort((a, b) => a.endedAtUs - b.endedAtUs);
    const fired = await alertsIn(birds, planted, [
      rule('FlightSlow', { id: 'slow' }),
      rule('FlightsUnusual', { per: '1d', id: 'daily' }),
      rule('FlightsUnusual', { per: '1h', id: 'hourly' }),
    ]);
    const hoursUntil = (birdId: string, ruleId: string, sinceUs: number) => {
      const found = fired.find((one) => one.birdId === birdId && one.alertId.includes(`/${ruleId}/`));
      return ((found?.atUs ?? Number.NaN) - sinceUs) / HOUR_US;
    };
    const delays = {
      slow: hoursUntil(slow, 'slow', dayUs(10)),
      runaway: hoursUntil(runaway, 'daily', dayUs(15) + 9 * HOUR_US),
      silent: hoursUntil(silent, 'daily', dayUs(21)),
    };
    say(`found after hours: ${JSON.stringify(delays)}; of ${JSON.stringify(fired)}`);
    expect(delays.slow).toBeLessThan(3);
    expect(delays.runaway).toBeLessThan(1);
    expect(delays.silent).toBeLessThan(0.5);
    expect(
      fired.filter(({ birdId }) => ![slow, runaway, silent].includes(birdId)).length,
    ).toBeLessThanOrEqual(4);
  });
});
