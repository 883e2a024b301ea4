import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { World } from '../../src/simulator/world/world.ts';
import { tempFolder } from '../http/servers.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

const HOUR_US = 3_600_000_000;

let stage: Stage;

/** Creates Nests of at most ten Birds each; returns the Birds' ids. */
function settle(world: World, birds: number): string[] {
  return Array.from({ length: Math.ceil(birds / 10) }, (_, nest) => {
    const { id } = world.addNest({ name: `Nest ${nest}` });
    return Array.from(
      { length: Math.min(10, birds - 10 * nest) },
      (_, at) => world.addBird(id, { name: `Bird ${nest}-${at}`, triggerType: 'event' }).id,
    );
  }).flat();
}

/** Opens the stage with one region of ten Birds. */
async function tenBirds(options: Pick<StageOptions, 'storePath'> = {}) {
  const nests = { Production: Array.from({ length: 10 }, (_, at) => `Bird ${at}`) };
  stage = await createStage({ ...options, regions: ['eu'], nests });
  return { birds: [...stage.eu.birds.keys()], world: stage.eu };
}

/** What happened to each event in notifications to `ops`: sent, counted in a summary, or nothing. */
async function accounts(of: Stage, region: string) {
  const truth = of.worlds[region]!.truth().events.filter(({ type }) => type === 'flight.failed');
  const listed = new Map<string, number>();
  for (const { notification } of of.mails)
    for (const { key } of notification.alerts.flatMap(({ events }) => events))
      listed.set(key, (listed.get(key) ?? 0) + 1);
  const tooOld = new Set<string>();
  for (const { key } of truth) {
    const reasons = await of.store.transaction((tx) => tx.suppressions.ofEvent(key));
    if (reasons.some(({ reason }) => reason === 'too_old')) tooOld.add(key);
  }
  return { truth, listed, tooOld };
}

const summaries = (of: Stage) =>
  of.mails.flatMap(({ notification }) => (notification.summary ? [notification] : []));

/** Most of the test's time is spent on polls of the region that is up. */
const OTHER_BIRDS = 4;
const AWAY_BIRDS = 36;
const DRAINED = 20;
const MINUTES_LOST = 20;
const MINUTES_OF_TROUBLE = 20;
const MINUTES_THAT_VANISH = 20;
const MINUTES_WITHOUT = 15;
const MINUTES_BEFORE_STEP = 10;
const STEP_BIRDS = 5;
const HOURS_AWAY = 12;
const HOURS_TOLD = 6;

describe(`a region was away for ${HOURS_AWAY} hours`, () => {
  test('old events are notified in one summary, the rest as usual, and the other region is not delayed [long]', async () => {
    const birds: Record<string, string[]> = {};
    stage = await createStage({
      requestsPerSecond: 10,
      poll: { maxAlertAgeMs: HOURS_TOLD * 3_600_000 },
      before(world) {
        birds[world.region] = settle(world, world.region === 'eu' ? AWAY_BIRDS : OTHER_BIRDS);
      },
    });
    const { eu, us } = stage.worlds;
    await stage.minutesPass(5);
    eu!.goDown('reset');
    const fails = (bird: string) => eu!.startFlight(bird, { endsAs: 'failed', fliesForMs: 5_000 });
    const [half, quarter, twelfth] = [AWAY_BIRDS / 2, AWAY_BIRDS / 4, AWAY_BIRDS / 12];
    const past = birds.eu!.slice(0, half);
    const lasting = birds.eu!.slice(half, half + quarter);
    const forgotten = birds.eu!.slice(half + quarter, half + quarter + twelfth);
    const failing = half + quarter + twelfth;
    for (let hour = 0; hour < HOURS_AWAY; hour += 1) {
      for (const bird of hour < HOURS_AWAY / 2 ? past : []) fails(bird);
      for (const bird of hour === HOURS_AWAY / 2 + 1 ? past : [])
        eu!.startFlight(bird, { endsAs: 'succeeded' });
      for (const bird of lasting) fails(bird);
      for (const bird of hour === 2 ? forgotten : []) fails(bird);
      await stage.minutesPass(60);
    }
    const [callsBefore, mailsBefore] = [stage.calls.length, stage.mails.length];
    eu!.comeUp();
    // While the backlog is read, the other region's failures are still found in time.
    const delaysS: number[] = [];
    for (let count = 0; count < DRAINED; count += 1) {
      const { id } = us!.startFlight(birds.us![count % OTHER_BIRDS]!, {
        endsAs: 'failed',
        fliesForMs: 1_000,
      });
      const endedAtUs = us!.nowUs() + 1e6;
      await stage.secondsPass(45);
      const call = stage.calls.find(({ body }) => body.includes(`us/flight/${id}/failed`));
      delaysS.push((call!.receivedAtUs - endedAtUs) / 1e6);
    }
    expect(Math.max(...delaysS)).toBeLessThanOrEqual(31);

    const keys = stage.forwarded();
    expect(keys.toSorted()).toEqual(stage.truth());
    const [mail, ...others] = summaries(stage);
    expect(others).toEqual([]);
    const hooks = stage.calls.slice(callsBefore).filter(({ body }) => body.includes('"catching_up"'));
    expect(hooks).toHaveLength(1);

    const { truth, listed, tooOld } = await accounts(stage, 'eu');
    const observed = new Map(
      (await Promise.all(truth.map(({ key }) => stage.store.transaction((tx) => tx.events.find(key))))).map(
        (event) => [event!.key, event!],
      ),
    );
    const isOld = (key: string) => {
      const { observedAtUs, occurredAtUs } = observed.get(key)!;
      return observedAtUs - occurredAtUs > HOURS_TOLD * HOUR_US;
    };
    const old = truth.filter(({ key }) => isOld(key));
    expect([...tooOld].toSorted()).toEqual(old.map(({ key }) => key).toSorted());
    expect(old.filter(({ key }) => listed.has(key))).toEqual([]);
    const fresh = truth.filter(({ key }) => !isOld(key));
    expect(fresh.map(({ key }) => listed.get(key))).toEqual(fresh.map(() => 1));

    expect(mail!.summary).toMatchObject({
      events: old.length,
      alerts: failing,
      firing: quarter + twelfth,
      kinds: [{ alertname: 'FlightFailed', events: old.length, alerts: failing, firing: quarter + twelfth }],
    });
    expect(mail!.alerts.every(({ events }) => events.length === 0)).toBe(true);
    // Alerts that fired and resolved meanwhile appear only in the summary. Those that still fire are sent, together
    // with new ones.
    const received = stage.mails
      .slice(mailsBefore)
      .filter(({ notification }) => !notification.summary)
      .flatMap(({ notification }) => notification.alerts)
      .filter(({ labels }) => labels.region === 'eu' && labels.alertname === 'FlightFailed')
      .map(({ labels }) => labels.bird_id);
    expect(new Set(received)).toEqual(new Set(lasting));

    // Their ends are sent as usual, once each, even for alerts that were only in the summary.
    for (const bird of [...lasting, ...forgotten]) eu!.startFlight(bird, { endsAs: 'succeeded' });
    const before = stage.mails.length;
    await stage.minutesPass(5);
    const ends = stage.mails
      .slice(before)
      .flatMap(({ notification }) => notification.alerts)
      .filter(({ labels, status }) => labels.region === 'eu' && status === 'resolved')
      .map(({ labels }) => labels.bird_id);
    expect(ends.toSorted()).toEqual([...lasting, ...forgotten].toSorted());
    expect(summaries(stage)).toHaveLength(1);
  });
});

/** Failures of all Birds, one a minute each, with a notification and a Bird log. */
async function minutesOfTrouble(of: Stage, birds: readonly string[], minutes: number): Promise<void> {
  const world = of.worlds.eu!;
  for (let minute = 0; minute < minutes; minute += 1) {
    for (const bird of birds) {
      world.startFlight(bird, { endsAs: minute % 5 === 4 ? 'succeeded' : 'failed', fliesForMs: 2_000 });
      world.save(bird);
    }
    world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan', entityId: minute } });
    await of.minutesPass(1);
  }
}

describe('nestwatch itself was away', () => {
  test('for ten hours: old events are summarised, the rest is notified, and nothing twice [long]', async () => {
    const { birds, world } = await tenBirds();
    await stage.minutesPass(2);
    await stage.restart(async () => {
      for (let hour = 0; hour < 10; hour += 1) {
        for (const bird of birds) world.startFlight(bird, { endsAs: 'failed' });
        await stage.minutesPass(60);
      }
    });
    await stage.minutesPass(2);
    // Another stop while messages wait changes nothing.
    await stage.restart();
    await stage.minutesPass(15);
    expect(stage.forwarded().toSorted()).toEqual(stage.truth());
    const { truth, listed, tooOld } = await accounts(stage, 'eu');
    expect(truth.filter(({ key }) => tooOld.has(key) === (listed.get(key) === 1))).toEqual([]);
    expect(summaries(stage).map(({ summary }) => summary)).toMatchObject([
      { events: tooOld.size, alerts: 10, firing: 10 },
    ]);
    expect(tooOld.size).toBe(40);
  });
});

describe('the service was restored from a backup', () => {
  test('its newest entries vanish and come back: nothing is notified twice, and new entries are found [long]', async () => {
    const { birds: all, world } = await tenBirds();
    const birds = all.slice(0, 6);
    await minutesOfTrouble(stage, birds, MINUTES_OF_TROUBLE);
    await stage.minutesPass(2);
    const lost = world
      .truth()
      .events.filter(
        ({ feed, occurredAtUs }) =>
          feed !== 'flight' && occurredAtUs > world.nowUs() - MINUTES_THAT_VANISH * 60e6,
      );
    expect(lost.length).toBeGreaterThan(5 * Math.min(MINUTES_OF_TROUBLE, MINUTES_THAT_VANISH));
    const before = stage.truth();
    for (const { key } of lost) world.deleteEntry(key.split('/').at(-1)!);
    await stage.minutesPass(MINUTES_WITHOUT);
    // Somebody imports them again, with their ids and instants, together with some that nobody has seen.
    for (const { key, occurredAtUs, type, birdId } of lost) {
      const again = {
        raw: { id: key.split('/').at(-1)!, eventType: type.split('.')[1] },
        createdAtUs: occurredAtUs,
      };
      if (key.includes('/notification/')) world.appendNotification(again);
      else world.appendBirdLog(birdId, again);
    }
    const fields = { eventType: 'Announcement', entityType: 'Plan', entityId: 4711 };
    world.appendNotification({ fields, createdAtUs: lost[0]!.occurredAtUs + 1_000 });
    await minutesOfTrouble(stage, birds, MINUTES_WITHOUT);
    await stage.minutesPass(3);
    expect(stage.repeated()).toEqual([]);
    const seen = new Set(stage.forwarded());
    expect(before.filter((key) => !seen.has(key))).toEqual([]);
    expect(stage.lost()).toEqual([]);
    expect(summaries(stage)).toEqual([]);
  });
});

describe('the store was restored from an old backup', () => {
  test('nothing is lost, and what is forwarded again is the same event [long]', async () => {
    const folder = tempFolder();
    const storePath = join(folder, 'store.db');
    const birds = (await tenBirds({ storePath })).birds.slice(0, 3);
    await minutesOfTrouble(stage, birds, 5);
    await stage.restart(() => copyFileSync(storePath, join(folder, 'backup.db')));
    await minutesOfTrouble(stage, birds, MINUTES_LOST);
    await stage.restart(() => {
      for (const ending of ['-wal', '-shm']) rmSync(`${storePath}${ending}`, { force: true });
      copyFileSync(join(folder, 'backup.db'), storePath);
    });
    await minutesOfTrouble(stage, birds, 5);
    await stage.minutesPass(3);
    expect(stage.lost()).toEqual([]);
    expect(new Set(stage.repeated()).size).toBeGreaterThan(6 * MINUTES_LOST);
    // Who drops repetitions by source and id, as CloudEvents says, loses nothing else.
    const known = new Map<string, object>();
    for (const { source, id, type, subject, time } of stage.lake()) {
      const before = known.get(`${source} ${id}`);
      expect(before ?? { type, subject, time }).toEqual({ type, subject, time });
      known.set(`${source} ${id}`, { type, subject, time });
    }
    expect([...known.keys()].sort()).toEqual(stage.truth().map((key) => `/regions/eu ${key}`));
    const stored = await stage.store.transaction((tx) => tx.outbox.count());
    expect(stored.every(({ state }) => state === 'delivered')).toBe(true);
  });
});

const clockSteps = [
  ['forward', 'while it runs', 3_600, false],
  ['forward', 'while it is stopped', 3_600, true],
  ['back', 'while it runs', -3_600, false],
  ['back', 'while it is stopped', -3_600, true],
] as const;

test.each(clockSteps)(
  'our clock is set %s by an hour %s: nothing is lost or notified twice, and nobody waits for that hour [long]',
  async (_where, _when, seconds, isStopped) => {
    const birds = (await tenBirds()).birds.slice(0, STEP_BIRDS);
    await minutesOfTrouble(stage, birds, MINUTES_BEFORE_STEP);
    if (isStopped) await stage.restart(() => stage.ourClockSteps(seconds));
    else stage.ourClockSteps(seconds);
    const before = stage.mails.length;
    await minutesOfTrouble(stage, birds, 8);
    // Groups still notify at their interval of a minute, and the lake is as fast as before.
    expect(stage.mails.length - before).toBeGreaterThanOrEqual(4);
    await stage.minutesPass(2);
    expect(stage.forwarded().toSorted()).toEqual(stage.truth());
    const { truth, listed } = await accounts(stage, 'eu');
    expect(truth.map(({ key }) => [key, listed.get(key)])).toEqual(truth.map(({ key }) => [key, 1]));
    expect(summaries(stage)).toEqual([]);
  },
);
