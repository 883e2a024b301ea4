/**
 * A service whose clock is wrong for a while, and with it all instants that it writes. Once it is right again, events
 * arrive as usual.
 */
import { expect, test } from 'vitest';
import type { HttpResponse } from '../../src/http/transport.ts';
import { formatInstant, parseInstant } from '../../src/time/instant.ts';
import { type Between, createStage, type Stage } from './stage.ts';

let stage: Stage;
let aheadUs: number;

function shifted({ headers, body, ...rest }: HttpResponse): HttpResponse {
  if (aheadUs === 0) return { headers, body, ...rest };
  const date = headers.date && new Date(Date.parse(headers.date) + aheadUs / 1000).toUTCString();
  const later = body.replace(/"(createdAt|startDate)":"([^"]+)"/g, (whole, name, text) => {
    const us = parseInstant(text)?.us;
    return us === undefined ? whole : `"${name}":"${formatInstant(us + aheadUs)}"`;
  });
  return { ...rest, headers: { ...headers, ...(date && { date }) }, body: later };
}

const between: Between = async (_request, pass) => shifted(await pass());

/** What people are notified of, without the alerts about the clock itself. */
function newsOf({ received }: Stage): string[] {
  const names = received().flatMap(({ alerts }) => alerts.map(({ labels }) => labels.alertname!));
  expect(names).toContain('WatchImpaired');
  return names.filter((name) => name !== 'WatchImpaired').toSorted();
}

const AHEAD = [
  ['two hours', 7_200e6],
  ['forty years', 40 * 365 * 86_400e6],
] as const;

test.each(AHEAD)('%s ahead once, and at the first answer of all [long]', async (_, us) => {
  aheadUs = us;
  stage = await createStage({
    ...{ regions: ['eu'], between, nests: { Production: ['Publish'] } },
    before: (world) => world.eventError([...world.birds.keys()][0]!),
  });
  const { eu: world, nest, bird } = stage;
  await stage.minutesPass(1);
  aheadUs = 0;
  await stage.minutesPass(1);
  world.disconnectConnection({
    nestId: nest('Production'),
    entityId: '77',
    entityName: 'TMS',
    exhausted: true,
    wording: 'old',
  });
  world.startFlight(bird('Publish'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  expect(newsOf(stage)).toEqual(['ConnectionDisconnected', 'FlightFailed']);
});

test.each(AHEAD)('%s ahead once, later [long]', async (_, us) => {
  aheadUs = 0;
  stage = await createStage({ regions: ['eu'], between, nests: { Production: ['Publish'] } });
  const { eu: world, nest, bird } = stage;
  await stage.minutesPass(10);
  aheadUs = us;
  world.eventError(bird('Publish'));
  world.startFlight(bird('Publish'), { endsAs: 'succeeded', fliesForMs: 1_000 });
  await stage.minutesPass(1);
  aheadUs = 0;
  await stage.minutesPass(1);
  world.disconnectConnection({
    nestId: nest('Production'),
    entityId: '77',
    entityName: 'TMS',
    exhausted: true,
    wording: 'old',
  });
  world.startFlight(bird('Publish'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  expect(newsOf(stage)).toEqual(['ConnectionDisconnected', 'FlightFailed']);
  for (const { verifiedUntilUs, cursorUs } of stage.region().feeds) {
    expect(verifiedUntilUs).toBeLessThanOrEqual(stage.clock.nowUs());
    expect(cursorUs).toBeLessThanOrEqual(stage.clock.nowUs());
  }
});

test('forty years behind in the very first answer: history is not notified', async () => {
  let answers = 0;
  aheadUs = 0;
  const wrongAtFirst = ({ headers, ...rest }: HttpResponse): HttpResponse => {
    answers += 1;
    const date = new Date(Date.parse(headers.date!) - 40 * 365 * 86_400_000).toUTCString();
    return { ...rest, headers: answers === 1 ? { ...headers, date } : headers };
  };
  stage = await createStage({
    regions: ['eu'],
    between: async (_request, pass) => wrongAtFirst(await pass()),
    nests: { Production: ['Publish'] },
    before(world) {
      world.at(world.nowUs() - 30 * 60e6, () => {
        world.startFlight([...world.birds.keys()][0]!, { endsAs: 'failed', fliesForMs: 1_000 });
      });
    },
  });
  await stage.minutesPass(3);
  expect(stage.received()).toEqual([]);
  stage.eu.startFlight(stage.bird('Publish'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  const names = stage.alerts().map(({ labels }) => labels.alertname);
  expect(names).toEqual(['FlightFailed']);
});
