/** What messages say about why a Flight fails now, and who can act. */
import { describe, expect, test } from 'vitest';
import { mailView } from '../../src/channels/message/message-view.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { rule } from '../domain/world.ts';
import { TEST_START_US } from '../virtual-clock.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

const MISCONFIGURED = { stepId: '3', scope: 'Create project', errorType: 3 };

async function birds(
  count: number,
  before: (world: World, birds: readonly string[]) => void = () => {},
  rules: readonly Rule[] = [],
) {
  stage = await createStage({
    regions: ['eu'],
    rules,
    nests: { Production: Array.from({ length: count }, (_, at) => `Sync ${at}`) },
    before(world) {
      world.addUser({ email: 'editor@example.com' });
      before(world, [...world.birds.keys()]);
    },
  });
  await stage.minutesPass(3);
  return { world: stage.eu, ids: [...stage.eu.birds.keys()], nestId: stage.nest('Production') };
}

/** Flies at once, and fails for want of a variable or succeeds. */
async function flies(world: World, birdId: string, endsAs: 'failed' | 'succeeded', message = 'boom') {
  world.startFlight(birdId, { endsAs, fliesForMs: 1_000, errorMessages: message, failedStep: MISCONFIGURED });
  await stage.minutesPass(4);
}

const firing = () => stage.alerts().filter(({ status }) => status === 'firing');
const annotation = (name: string) => firing().at(-1)!.annotations[name];

describe('a publish before a failure', () => {
  function expectNothingNamed(): void {
    expect(firing().length).toBeGreaterThan(0);
    expect(firing().filter(({ annotations }) => annotations.changed_before !== undefined)).toEqual([]);
  }

  test('is named if the Flight before it succeeded [long]', async () => {
    const { world, ids } = await birds(1);
    await flies(world, ids[0]!, 'succeeded');
    world.publish(ids[0]!);
    await stage.minutesPass(12);
    await flies(world, ids[0]!, 'failed');
    expect(annotation('changed_before')).toBe(
      'published by editor@example.com 12 min before the first failed Flight started; the last Flight before that succeeded',
    );
    const [mail] = stage.mails;
    const { lead } = mailView(mail!.notification, 'https://nestwatch.example.com');
    expect(lead).toContain(
      'Published by editor@example.com 12 min before the first failed Flight started; the last Flight before that succeeded.',
    );
  });

  test('is one of several changes [long]', async () => {
    const { world, ids } = await birds(1);
    await flies(world, ids[0]!, 'succeeded');
    for (let at = 0; at < 3; at += 1) {
      world.publish(ids[0]!);
      await stage.minutesPass(5);
    }
    await flies(world, ids[0]!, 'failed');
    expect(annotation('changed_before')).toContain('started, the last of 3 changes; the last Flight');
  });

  test.each<['succeeded' | 'failed', string]>([
    ['succeeded', 'after it'],
    ['failed', 'before it'],
  ])('is not named if a Flight %s %s [long]', async (endsAs, when) => {
    const { world, ids } = await birds(1);
    if (when === 'before it') await flies(world, ids[0]!, endsAs);
    world.publish(ids[0]!);
    await stage.minutesPass(5);
    if (when === 'after it') await flies(world, ids[0]!, endsAs);
    await flies(world, ids[0]!, 'failed');
    expectNothingNamed();
  });

  test('is not named if the failed Flight had succeeded before it was active again [long]', async () => {
    const { world, ids } = await birds(1);
    await flies(world, ids[0]!, 'succeeded');
    world.publish(ids[0]!);
    await stage.minutesPass(5);
    const { id } = world.startFlight(ids[0]!, { endsAs: 'succeeded', fliesForMs: 1_000 });
    await stage.minutesPass(4);
    world.reopenFlight(id);
    world.endFlight(id, 'failed', { errorMessages: 'boom' });
    await stage.minutesPass(4);
    expectNothingNamed();
  });

  test('is not named while a Flight that had succeeded after it is active again [long]', async () => {
    const { world, ids } = await birds(1);
    world.publish(ids[0]!);
    await stage.minutesPass(1);
    const early = world.startFlight(ids[0]!, { endsAs: 'failed', fliesForMs: 1_200_000 });
    await stage.minutesPass(1);
    const { id } = world.startFlight(ids[0]!, { endsAs: 'succeeded', fliesForMs: 1_000 });
    await stage.minutesPass(4);
    world.reopenFlight(id);
    await stage.minutesPass(20);
    expect(firing().some(({ events }) => events.some(({ key }) => key.includes(early.id)))).toBe(true);
    expectNothingNamed();
  });

  test('is not named if the only Flight known before it was in the air when the watch began [long]', async () => {
    const { world, ids } = await birds(1, (early, [bird]) => {
      const hoursAgo = (hours: number) => TEST_START_US - hours * 3_600_000_000;
      early.startFlight(bird!, { endsAs: 'succeeded', startedAtUs: hoursAgo(2), fliesForMs: 5 * 3_600_000 });
      early.startFlight(bird!, { endsAs: 'failed', startedAtUs: hoursAgo(1.5), fliesForMs: 1_000 });
    });
    await stage.minutesPass(200);
    world.publish(ids[0]!);
    await stage.minutesPass(5);
    await flies(world, ids[0]!, 'failed');
    expectNothingNamed();
  });

  test('by somebody with a hostile name stays one line of text [long]', async () => {
    const { world, ids } = await birds(1);
    await flies(world, ids[0]!, 'succeeded');
    const initiator = `<b>eve</b>\u202e\n${'x'.repeat(10_000)}`;
    world.appendBirdLog(ids[0]!, { fields: { eventType: 'Published', initiator } });
    await stage.minutesPass(5);
    await flies(world, ids[0]!, 'failed');
    const said = annotation('changed_before')!;
    expect(said.length).toBeLessThan(300);
    expect(said).not.toMatch(/[\n\u202e]/);
  });
});

test.each([
  ['names a publish since the last Flight that was not', 0],
  ['does not name a publish before a Flight that was not', 1],
])('of slow Flights %s slow [long]', async (_what, quickAfter) => {
  const { world, ids } = await birds(
    1,
    ({ nowUs, startFlight }, [id = '']) => {
      for (let minute = 45; minute > 0; minute -= 1) {
        const startedAtUs = nowUs() - minute * 60_000_000;
        startFlight(id, { startedAtUs, endsAs: 'succeeded', fliesForMs: 20_000 });
      }
    },
    [rule('FlightSlow', { atLeastMs: 60_000 })],
  );
  world.publish(ids[0]!);
  await stage.minutesPass(8);
  for (const seconds of [...Array<number>(quickAfter).fill(20), 180, 180, 180]) {
    world.startFlight(ids[0]!, { endsAs: 'succeeded', fliesForMs: seconds * 1_000 });
    await stage.minutesPass(4);
  }
  expect(firing().map(({ labels }) => labels.alertname)).toEqual(['FlightSlow']);
  const said = 'published by editor@example.com 8 min before the first slow Flight started';
  expect(annotation('changed_before')).toBe(quickAfter === 0 ? said : undefined);
  const { lead } = mailView(stage.mails.at(-1)!.notification, 'https://nestwatch.example.com');
  expect(lead.includes(`P${said.slice(1)}.`)).toBe(quickAfter === 0);
});

test('says who can act, by the type of the error', async () => {
  const { world, ids } = await birds(1);
  await flies(world, ids[0]!, 'failed');
  expect(firing()[0]!.labels.error_type).toBe('PluginMisconfiguration');
  expect(annotation('who_acts')).toBe('to act: somebody who edits the Bird (configuration error)');
  // The label stays that of the first error.
  const step = { ...MISCONFIGURED, errorType: 2 };
  world.startFlight(ids[0]!, {
    ...{ endsAs: 'failed', fliesForMs: 1_000, errorMessages: 'Overloaded', failedStep: step },
  });
  await stage.minutesPass(12);
  expect(firing()[0]!.labels.error_type).toBe('PluginMisconfiguration');
  expect(annotation('who_acts')).toBe('likely to pass: the connected app did not respond');
});

test('names other Birds with the same error, and no others [long]', async () => {
  const { world, ids } = await birds(6);
  // At the fifth it would be a cause that they share.
  for (const id of ids.slice(0, 4)) {
    world.startFlight(id, { endsAs: 'failed', fliesForMs: 1_000, errorMessages: 'Quota 7 exceeded' });
  }
  await stage.minutesPass(4);
  await flies(world, ids[5]!, 'failed', 'something else');
  const said = new Map(
    firing()
      .toReversed()
      .map(({ labels, annotations }) => [labels.bird, annotations.also_failing]),
  );
  expect(said.get('Sync 0')).toBe('also failing with this error: Sync 1, Sync 2, Sync 3');
  expect(said.get('Sync 5')).toBeUndefined();
});

test('names a connection of the Nest that was lost before [long]', async () => {
  const { world, ids, nestId } = await birds(1);
  world.disconnectConnection({ nestId, entityName: 'Acme CMS', exhausted: true, wording: 'old' });
  await stage.minutesPass(14);
  await flies(world, ids[0]!, 'failed');
  const failed = firing().findLast(({ labels }) => labels.alertname === 'FlightFailed');
  expect(failed!.annotations.connection_lost).toBe(
    'the connection Acme CMS of this Nest was lost 14 min before',
  );
});

test('a publish that is read after the first message is in the next one [long]', async () => {
  const { world, ids } = await birds(1);
  await flies(world, ids[0]!, 'succeeded');
  const createdAtUs = world.nowUs();
  world.appendBirdLog(ids[0]!, {
    fields: { eventType: 'Published', initiator: 'editor@example.com' },
    createdAtUs,
    visibleAtUs: createdAtUs + 8 * 60_000_000,
  });
  await stage.minutesPass(2);
  await flies(world, ids[0]!, 'failed');
  expect(annotation('changed_before')).toBeUndefined();
  await stage.minutesPass(6);
  await flies(world, ids[0]!, 'failed');
  await stage.minutesPass(5);
  expect(annotation('changed_before')).toMatch(/^published by editor@example.com /);
});

test('asks the service nothing, and says nothing if nothing is wanted [long]', async () => {
  const counts: unknown[] = [];
  for (const show of [[], undefined]) {
    const { world, ids } = await birds(2);
    if (show) await stage.follows((config) => ({ ...config, context: { ...config.context, show } }));
    await stage.minutesPass(1);
    world.publish(ids[0]!);
    await flies(world, ids[0]!, 'failed');
    expect(firing().some(({ annotations }) => annotations.who_acts !== undefined)).toBe(show === undefined);
    counts.push(world.requests());
    if (show) await stage.close();
  }
  expect(counts[0]).toEqual(counts[1]);
});
