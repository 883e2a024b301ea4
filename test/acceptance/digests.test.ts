/** Digests as people receive them, and the heartbeat as an external watchdog sees it, with the whole daemon. */
import { describe, expect, test } from 'vitest';
import { emailText } from '../../src/channels/email/mail-message.ts';
import { digestSubject, digestView } from '../../src/channels/message/digest-view.ts';
import type { Config } from '../../src/config/config.ts';
import type { DigestConfig } from '../../src/config/sections/digests-section.ts';
import { secret } from '../../src/secret.ts';
import { WORDS } from '../domain/kinds/kind-words.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

/** The stage begins on Thursday, 2 July 2026 at 12:00 UTC. */
const HOURLY: DigestConfig = {
  name: 'hourly',
  cron: '0 * * * *',
  timezone: 'UTC',
  receiver: 'ops',
  skipEmpty: false,
};

async function withBirds(options: StageOptions) {
  const stage = await createStage({
    regions: ['eu'],
    poll: { intervalMs: 60_000, inventoryIntervalMs: 900_000 },
    nests: { Marketing: ['Translate blog', 'Contracts'] },
    ...options,
  });
  const [translate, contracts] = [stage.bird('Translate blog'), stage.bird('Contracts')];
  return { stage, nestId: stage.nest('Marketing'), translate, contracts };
}

const fails = ({ worlds }: Stage, birdId: string, errorMessages = 'quota of 1000 words exceeded') =>
  void worlds.eu!.startFlight(birdId, { endsAs: 'failed', fliesForMs: 20_000, errorMessages });
const succeeds = ({ worlds }: Stage, birdId: string, fliesForMs = 5_000) =>
  void worlds.eu!.startFlight(birdId, { endsAs: 'succeeded', fliesForMs });
const timesOf = (stage: Stage) =>
  stage.digests.map(({ receivedAtUs }) => new Date(receivedAtUs / 1000).toISOString().slice(11, 16));
const last = (stage: Stage) => stage.digests.at(-1)!.notification.digest;
const textOf = (stage: Stage) =>
  emailText(digestView(stage.digests.at(-1)!.notification, 'http://n.example'));

describe('a digest', () => {
  test('says how long Flights have waited for people [long]', async () => {
    const reviews = rule('FlightWaiting', { steps: ['*review*'], afterMs: 300_000 });
    const { stage, translate, contracts } = await withBirds({ digests: [HOURLY], rules: [reviews] });
    const { startFlight } = stage.eu;
    for (const birdId of [translate, translate, contracts]) {
      startFlight(birdId);
      await stage.minutesPass(4);
    }
    await stage.minutesPass(160);
    expect(last(stage).waiting).toMatchObject({ flights: 3, longest: { bird: 'Translate blog' } });
    expect(textOf(stage)).toContain(
      'Waiting for people  3 Flights, median 56 min, longest 60 min (EU · Marketing / Translate blog)',
    );
  });

  test('comes at its instant and lists what happened since the last one, each Flight once [long]', async () => {
    const { stage, translate, contracts } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(10);
    fails(stage, translate);
    fails(stage, translate, 'quota of 2000 words exceeded');
    fails(stage, contracts, 'timed out');
    await stage.minutesPass(20);
    succeeds(stage, translate);
    await stage.minutesPass(29);
    expect(stage.digests).toEqual([]);
    await stage.minutesPass(2);
    expect(timesOf(stage)).toEqual(['13:00']);
    expect(last(stage).flights).toMatchObject({
      failed: 3,
      succeeded: 1,
      birdsFailing: 2,
      nestsFailing: 1,
      birds: [
        { region: 'eu', nest: 'Marketing', bird: 'Translate blog', failed: 2, succeeded: 1 },
        { bird: 'Contracts', failed: 1, succeeded: 0 },
      ],
      causes: [
        { error: 'quota of # words exceeded', failed: 2, birds: 1 },
        { error: 'timed out', failed: 1, birds: 1 },
      ],
    });
    expect(last(stage)).toMatchObject({ openTotal: 1, recovered: { alerts: 1 } });
    expect(last(stage).recovered.meanUs).toBeGreaterThan(15 * 60e6);
    expect(digestSubject(stage.digests[0]!.notification)).toBe(
      '[nestwatch] Digest hourly: 3 Flights failed, 1 alert open',
    );
    await stage.minutesPass(60);
    expect(timesOf(stage)).toEqual(['13:00', '14:00']);
    expect(last(stage)).toMatchObject({ flights: { failed: 0, succeeded: 0 }, openTotal: 1 });
    expect(last(stage).fromUs).toBe(stage.digests[0]!.notification.digest.toUs);
  });

  test('covers the period of its cron expression at first, and its webhook gets no alerts [long]', async () => {
    const daily = { ...HOURLY, name: 'daily', cron: '30 14 * * *', timezone: 'Europe/Amsterdam' };
    const { stage } = await withBirds({ digests: [daily] });
    await stage.minutesPass(31);
    expect(timesOf(stage)).toEqual(['12:30']);
    expect(last(stage).toUs - last(stage).fromUs).toBe(86_400e6);
    const [body] = stage.received() as unknown as { alerts: unknown[]; digest: { name: string } }[];
    expect(body).toMatchObject({
      status: 'resolved',
      alerts: [],
      digest: { name: 'daily', flights_failed: 0 },
    });
  });

  test('that was due while nestwatch was down comes once, after what happened has been read [long]', async () => {
    const { stage, translate } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(30);
    await stage.restart(async () => {
      fails(stage, translate);
      await stage.minutesPass(200);
    });
    await stage.minutesPass(3);
    expect(stage.digests).toEqual([]);
    await stage.minutesPass(5);
    expect(stage.digests).toHaveLength(1);
    expect(last(stage).flights.failed).toBe(1);
    expect(last(stage).toUs - last(stage).fromUs).toBeGreaterThan(3 * 3600e6);
    await stage.minutesPass(60);
    expect(stage.digests).toHaveLength(2);
    expect(last(stage).flights.failed).toBe(0);
  });

  test('lists a connection lost before its period that was read within it, once [long]', async () => {
    const { stage, nestId } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(90);
    stage.eu.goDown(503);
    stage.eu.disconnectConnection({ nestId, entityName: 'Acme CMS', exhausted: true, wording: 'old' });
    await stage.minutesPass(40);
    stage.eu.comeUp();
    await stage.minutesPass(120);
    const lost = stage.digests.map(({ notification }) => notification.digest.connectionsLostTotal);
    expect([timesOf(stage), lost]).toEqual([
      ['13:00', '14:00', '15:00', '16:00'],
      [0, 0, 1, 0],
    ]);
  });

  test('is not repeated by a restart [long]', async () => {
    const { stage } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(60);
    await stage.restart();
    await stage.minutesPass(30);
    expect(timesOf(stage)).toEqual(['13:00']);
  });

  test('does not wait for the old time when our clock is set back [long]', async () => {
    const { stage, translate } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(61);
    stage.ourClockSteps(-86_400);
    fails(stage, translate);
    await stage.minutesPass(61);
    expect(timesOf(stage)).toEqual(['13:00', '14:00']);
    expect(last(stage).toUs).toBe(stage.digests[0]!.notification.digest.toUs + 3600e6 - 86_400e6);
  });

  test('comes again if our clock was set back to before its instant, with what happened since the last one [long]', async () => {
    const { stage, translate } = await withBirds({ digests: [HOURLY] });
    await stage.minutesPass(65);
    stage.ourClockSteps(-1_800);
    fails(stage, translate);
    await stage.minutesPass(30);
    expect(stage.digests).toHaveLength(2);
    expect(last(stage).flights.failed).toBe(1);
    expect(stage.happenings.filter(({ what }) => what === 'trouble')).toEqual([]);
  });

  test('can be left out if nothing happened, and only then [long]', async () => {
    const { stage, translate } = await withBirds({ digests: [{ ...HOURLY, skipEmpty: true }] });
    succeeds(stage, translate);
    await stage.minutesPass(61);
    expect(stage.digests).toEqual([]);
    fails(stage, translate);
    await stage.minutesPass(60);
    expect(last(stage)).toMatchObject({ flights: { failed: 1, succeeded: 0 } });
    expect(timesOf(stage)).toEqual(['14:00']);
  });

  test('lists for everybody who gets it what was silenced, and what still is [long]', async () => {
    // No route leads to the lake: it receives only the digest.
    const digests = [HOURLY, { ...HOURLY, name: 'beside', receiver: 'lake' }];
    const { stage, translate, contracts } = await withBirds({ digests });
    await stage.minutesPass(5);
    await stage.silence('nest="Marketing"', 24 * 60);
    fails(stage, translate);
    fails(stage, contracts);
    await stage.minutesPass(10);
    succeeds(stage, translate);
    await stage.minutesPass(46);
    const alert = `${WORDS.FlightFailed.firing}: EU · Marketing / `;
    expect(textOf(stage)).toMatch(new RegExp(`${alert}Contracts +\\(since .*, silenced\\)`));
    const sent = stage.lake().findLast(({ type }) => type === 'nestwatch.digest');
    const silenced = (bird: string, open: boolean) => ({
      ...{ labels: expect.objectContaining({ bird }), times: 1, open },
    });
    expect(sent!.data).toMatchObject({
      name: 'beside',
      open: [{ labels: { bird: 'Contracts' }, silenced: true }],
      silenced: [silenced('Translate blog', false), silenced('Contracts', true)],
      silenced_total: 2,
      suppressed: {},
    });
    expect(last(stage)).toMatchObject({
      silencedTotal: 2,
      suppressed: [{ reason: 'silenced', count: 1 }],
    });
    // The next digest lists only what is still silenced.
    await stage.minutesPass(60);
    expect(last(stage).silenced).toMatchObject([{ labels: { bird: 'Contracts' }, times: 1, isOpen: true }]);
  });

  test('lists lost connections, deactivated Birds, slow ones and a region that was down [long]', async () => {
    const { stage, nestId, translate, contracts } = await withBirds({ digests: [HOURLY] });
    const world = stage.eu;
    for (let count = 0; count < 6; count += 1) succeeds(stage, translate, 300_000 + count * 60_000);
    const lost = { nestId, entityId: '118', entityName: 'Phrase TMS', wording: 'old' as const };
    world.disconnectConnection({ ...lost, exhausted: true });
    for (let count = 0; count < 5; count += 1) {
      world.eventError(contracts);
      await stage.minutesPass(1);
    }
    await stage.minutesPass(15);
    world.goDown(503);
    await stage.minutesPass(20);
    world.comeUp();
    await stage.minutesPass(30);
    const digest = last(stage);
    expect(digest.connectionsLost.map(({ labels }) => labels.entity_name)).toEqual(['Phrase TMS']);
    expect(digest.deactivated.map(({ labels }) => labels.bird)).toEqual(['Contracts']);
    expect(digest.flights.slowest).toMatchObject([{ bird: 'Translate blog', beforeUs: null }]);
    expect(Math.abs(digest.flights.slowest[0]!.p95Us / 600e6 - 1)).toBeLessThan(0.05);
    expect(digest.watch).toMatchObject([
      { region: 'eu', impaired: [{ alertname: 'RegionDown', isOpen: false }] },
    ]);
    expect(textOf(stage)).toContain(`${WORDS.RegionDown.firing} for `);
  });
});

describe('the heartbeat', () => {
  const heartbeat: NonNullable<Config['heartbeat']> = {
    url: secret('https://hc.example/ping/x'),
    intervalMs: 60_000,
  };
  const outcomes = ({ happenings }: Stage) =>
    happenings.flatMap((one) => (one.what === 'heartbeat' ? [`${one.outcome} ${one.reason}`.trim()] : []));

  test('beats while every region is fresh', async () => {
    const { stage } = await withBirds({ heartbeat });
    await stage.minutesPass(10);
    expect(stage.beats).toHaveLength(10);
    expect(outcomes(stage).slice(0, 2)).toEqual(['silent first reading of EU under way', 'sent']);
  });
});
