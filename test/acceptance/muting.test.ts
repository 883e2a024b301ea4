/** Silences, acknowledgements, inhibition and time intervals, as people see them: what is sent, and when. */
import { describe, expect, test } from 'vitest';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { createTimeInterval } from '../../src/domain/muting/muting.ts';
import type { Silence } from '../../src/domain/muting/silence.ts';
import { acknowledge, expireSilence } from '../../src/domain/muting/silence-change.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

async function twoBirds(options: StageOptions = {}) {
  stage = await createStage({ regions: ['eu'], nests: { Production: ['Publish', 'Review'] }, ...options });
  const world = stage.eu;
  await stage.minutesPass(1);
  return {
    world,
    fails: (bird: string) =>
      `eu/flight/${world.startFlight(stage.bird(bird), { endsAs: 'failed' }).id}/failed`,
    lands: (bird: string) => void world.startFlight(stage.bird(bird), { endsAs: 'succeeded' }),
  };
}

/** The notifications received, in order, with the number of new events: `Publish firing +1`. */
const received = () =>
  stage.received().map(({ alerts }) =>
    alerts
      .map(
        ({ labels, status, events }) =>
          `${labels.bird ?? labels.region} ${labels.alertname} ${status} +${events.length}`,
      )
      .toSorted()
      .join(', '),
  );

/** Keys of the events that the hook was notified of, including repetitions. */
const toldEvents = () => stage.alerts().flatMap(({ events }) => events.map(({ key }) => key));

const suppressed = () =>
  stage.happenings.flatMap((one) => (one.what === 'suppressed' ? [`${one.reason} ${one.count}`] : []));

/** Of the Bird that is called Publish. */
const silence = (minutes = 30, change: Partial<Silence> = {}) =>
  stage.silence('bird="Publish"', minutes, change);

describe('a silence', () => {
  test('mutes what it matches, not the rest; what still fires when it ends is notified then, each event once [long]', async () => {
    const { fails } = await twoBirds();
    await silence();
    const events = [fails('Publish'), fails('Review')];
    await stage.minutesPass(5);
    expect(received()).toEqual(['Review FlightFailed firing +1']);
    events.push(fails('Publish'));
    await stage.minutesPass(20);
    expect(received()).toHaveLength(1);
    await stage.minutesPass(10);
    expect(received().slice(1)).toEqual(['Publish FlightFailed firing +2, Review FlightFailed firing +0']);
    expect(toldEvents().toSorted()).toEqual(events.toSorted());
    expect(suppressed()).toEqual([]);
  });

  test('survives a restart, and can be ended early [long]', async () => {
    const { fails } = await twoBirds();
    const id = await silence(600);
    fails('Publish');
    await stage.minutesPass(10);
    await stage.restart();
    await stage.minutesPass(60);
    expect(received()).toEqual([]);
    await stage.store.transaction(async (tx) => {
      const change = expireSilence(await tx.silences.list(), id, stage.clock.nowUs());
      if (change.ok) await tx.silences.put(change.write);
    });
    await stage.minutesPass(2);
    expect(received()).toEqual(['Publish FlightFailed firing +1']);
  });

  test('whose alert resolves before it ends: that is never notified, and the reason is recorded for each event [long]', async () => {
    const { fails, lands } = await twoBirds();
    const id = await silence();
    const keys = [fails('Publish')];
    await stage.minutesPass(2);
    keys.push(fails('Publish'));
    await stage.minutesPass(2);
    lands('Publish');
    await stage.minutesPass(120);
    expect(received()).toEqual([]);
    expect(suppressed()).toEqual(['silenced 1']);
    for (const key of keys) {
      const reasons = await stage.store.transaction((tx) => tx.suppressions.ofEvent(key));
      expect(reasons).toMatchObject([
        { receiver: 'ops', reason: 'silenced', detail: `by ann: we know (${id})`, afterSeq: 0, lastSeq: 2 },
      ]);
    }
  });

  test('that recurs mutes only in its windows [long]', async () => {
    const { fails } = await twoBirds();
    // The stage begins at noon UTC.
    const recurrence = { cron: '30 12 * * *', timezone: 'UTC', durationMs: 3_600_000 };
    await silence(3 * 24 * 60, { recurrence });
    fails('Publish');
    await stage.minutesPass(10);
    expect(received()).toEqual(['Publish FlightFailed firing +1']);
    await stage.minutesPass(30);
    fails('Publish');
    await stage.minutesPass(45);
    expect(received()).toHaveLength(1);
    await stage.minutesPass(10);
    expect(received().slice(1)).toEqual(['Publish FlightFailed firing +1']);
  });
});

describe('an acknowledgement', () => {
  const acknowledgeFirst = () =>
    stage.store.transaction(async (tx) => {
      const [alert] = await tx.alerts.firing(undefined, 1);
      const nowUs = stage.clock.nowUs();
      const by = { createdBy: 'ann', comment: 'on it' };
      const change = acknowledge(await tx.silences.list(), alert!, by, { newId: 'ack', nowUs });
      if (change.ok) await tx.silences.put(change.write);
    });

  test('mutes repetitions and further failures; the end is notified, and so is what fires next [long]', async () => {
    const { fails, lands } = await twoBirds({ route: { repeatIntervalMs: 1_200_000 } });
    fails('Publish');
    await stage.minutesPass(2);
    await acknowledgeFirst();
    fails('Publish');
    await stage.minutesPass(65);
    expect(received()).toEqual(['Publish FlightFailed firing +1']);
    lands('Publish');
    await stage.minutesPass(3);
    expect(received().slice(1)).toEqual(['Publish FlightFailed resolved +1']);
    const [ack] = await stage.store.transaction((tx) => tx.silences.list());
    expect(ack!.endsAtUs).toBeLessThan(stage.clock.nowUs());
    await stage.restart();
    fails('Publish');
    await stage.minutesPass(3);
    expect(received().slice(2)).toEqual(['Publish FlightFailed firing +1']);
    expect(suppressed()).toEqual([]);
  });
});

describe('inhibition', () => {
  test('a region that is down mutes what else fires in it until it is up again [long]', async () => {
    const { world, fails } = await twoBirds({ route: { repeatIntervalMs: 1_200_000 } });
    fails('Publish');
    await stage.minutesPass(5);
    expect(received()).toEqual(['Publish FlightFailed firing +1']);
    world.goDown(503);
    await stage.minutesPass(60);
    // It is repeated while the region is down; the Bird's alert is not.
    expect(new Set(received().slice(1))).toEqual(new Set(['eu RegionDown firing +0']));
    world.comeUp();
    await stage.minutesPass(30);
    expect(received()).toContain('eu RegionDown resolved +0');
    expect(received().at(-1)).toBe('Publish FlightFailed firing +0');
  });

  test('a region that is up again mutes nothing, even if its alert still fires because it flaps [long]', async () => {
    const { world, fails } = await twoBirds();
    for (let time = 0; time < 3; time += 1) {
      world.goDown(503);
      await stage.minutesPass(7);
      world.comeUp();
      await stage.minutesPass(7);
    }
    const firing = await stage.store.transaction((tx) => tx.alerts.firing(undefined, 10));
    expect(firing.map(({ alertname, flapping }) => [alertname, flapping?.isFlapping])).toEqual([
      ['RegionDown', true],
    ]);
    fails('Publish');
    await stage.minutesPass(3);
    expect(received().at(-1)).toBe('Publish FlightFailed firing +1');
    expect(suppressed()).toEqual([]);
  });
});

describe('time intervals', () => {
  /** Only the child route is muted at times. */
  const during = (names: { mute?: string[]; active?: string[] }): StageOptions => ({
    route: {
      routes: [
        {
          path: '0.0',
          key: '{}/{alertname="FlightFailed"}',
          receiver: 'ops',
          matchers: parseMatchers('alertname="FlightFailed"'),
          continue: false,
          groupBy: ['bird'],
          groupWaitMs: 10_000,
          groupIntervalMs: 60_000,
          repeatIntervalMs: 4 * 3_600_000,
          ...(names.mute && { muteTimeIntervals: names.mute }),
          ...(names.active && { activeTimeIntervals: names.active }),
          routes: [],
        },
      ],
    },
    // The stage begins at noon UTC.
    timeIntervals: new Map([
      ['lunch', [createTimeInterval({ location: 'UTC', times: [{ from: 12 * 60, to: 13 * 60 }] })]],
      ['afternoon', [createTimeInterval({ location: 'UTC', times: [{ from: 13 * 60, to: 18 * 60 }] })]],
    ]),
  });

  test.each([
    ['inside a mute interval', { mute: ['lunch'] }, 'lunch'],
    ['outside of all active intervals', { active: ['afternoon'] }, 'afternoon'],
  ])('%s nothing is notified; what still fires is notified afterwards [long]', async (_, names, detail) => {
    const { fails, lands } = await twoBirds(during(names));
    fails('Publish');
    const over = fails('Review');
    await stage.minutesPass(5);
    lands('Review');
    await stage.minutesPass(50);
    expect(received()).toEqual([]);
    await stage.minutesPass(10);
    expect(received()).toEqual(['Publish FlightFailed firing +1']);
    expect(await stage.store.transaction((tx) => tx.suppressions.ofEvent(over))).toMatchObject([
      { reason: 'time_interval', detail },
    ]);
  });
});
