/** The report of a month beside the truth of the service, with the whole daemon. */
import { expect, test } from 'vitest';
import { readMonthReport } from '../../src/store/month-report.ts';
import { NOTHING_CONFIGURED } from '../alerting/desk.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

test('counts each Flight of the service once, and how long a Bird failed before it landed again [long]', async () => {
  stage = await createStage({ regions: ['eu'], nests: { Marketing: ['Translate blog', 'Post news'] } });
  await stage.minutesPass(2);
  const [translate, post] = [stage.bird('Translate blog'), stage.bird('Post news')];
  const fly = async (bird: string, endsAs: 'succeeded' | 'failed', errorMessages?: string) => {
    stage.eu.startFlight(bird, {
      endsAs,
      fliesForMs: 5_000,
      ...(errorMessages && { errorMessages }),
    });
    await stage.minutesPass(5);
  };
  await fly(translate, 'failed', 'The TMS refused the job');
  await fly(post, 'succeeded');
  await fly(translate, 'failed', 'The TMS refused the job');
  await fly(post, 'succeeded');
  await fly(translate, 'succeeded');
  await fly(post, 'failed', 'No connection');

  const { tables, months } = await readMonthReport(stage.store, {
    ...{ regions: ['eu'], nestId: undefined, month: undefined, zone: 'UTC' },
    ...{ config: NOTHING_CONFIGURED, nowUs: stage.clock.nowUs() },
  });
  const ends = stage.eu.truth().events.filter(({ key }) => key.includes('/flight/'));
  const failed = ends.filter(({ key }) => key.endsWith('/failed'));
  expect([ends.length, failed.length]).toEqual([6, 3]);
  expect(months.map(({ name }) => name)).toEqual(['2026-07']);
  const [{ figures }] = tables.month as [(typeof tables.month)[0]];
  expect(figures).toMatchObject({ flights: ends.length, failed: failed.length, success: 0.5 });
  // It failed at the first of three Flights of the Bird, ten minutes apart each.
  expect(Math.round(figures.median_time_to_recover! / 60e6)).toBe(20);
  expect(tables.worst_nests).toMatchObject([
    { labels: { nest: 'Marketing' }, figures: { flights: 6, failed: 3 } },
  ]);
  expect(tables.worst_birds.map(({ labels, figures: { times } }) => [labels.bird, times])).toEqual([
    ['Translate blog', 1],
    ['Post news', 1],
  ]);
  expect(tables.causes.map(({ text }) => text)).toEqual(['The TMS refused the job', 'No connection']);
  expect(tables.how_alerts_ended).toEqual([{ text: 'over', figures: { alerts: 1 } }]);
});
