import { describe, expect, test } from 'vitest';
import type { Episode } from '../../../src/domain/digest/digest.ts';
import { alertsOfMonth } from '../../../src/domain/digest/report-figures.ts';

/** A month of a hundred microseconds. */
const MONTH = { fromUs: 1_000, untilUs: 1_100 };

function episode(startsAtUs: number, endsAtUs: number, change: Partial<Episode> = {}): Episode {
  return {
    ...{
      alertId: `a${startsAtUs}`,
      alertname: 'FlightFailed',
      startsAtUs,
      endsAtUs,
      events: 1,
      ending: 'over',
    },
    ...change,
    labels: { region: 'eu', bird_id: '1', severity: 'warning', error: 'refused', ...change.labels },
  };
}
const critical = { labels: { severity: 'critical' } };
const of = (...episodes: Episode[]) => alertsOfMonth(episodes, MONTH);

describe('a month of alerts', () => {
  test('has times with a critical alert: each instant once, and only those of the month', () => {
    const { figures } = of(
      episode(900, 1_010, critical),
      episode(1_005, 1_020, critical),
      episode(1_050, 1_060, critical),
      episode(1_052, 1_054, critical),
      episode(1_095, 1_300, critical),
      episode(1_030, 1_040),
      episode(1_100, 1_200, critical),
      episode(900, 999, critical),
    );
    expect(figures.critical_downtime).toBe(20 + 10 + 5);
    expect(figures.watch_impaired).toBe(0);
  });

  test('counts alerts about the watch only as what impaired it', () => {
    const { figures, endings, causes } = of(
      episode(1_000, 1_030, { ...critical, alertname: 'RegionDown' }),
      episode(1_020, 1_040, { alertname: 'FeedBehind' }),
    );
    expect(figures).toMatchObject({ critical_downtime: 0, watch_impaired: 40 });
    expect([endings.size, causes.length]).toEqual([0, 0]);
  });

  test('has no downtime by what happened at an instant, or by an objective that failed before', () => {
    const { figures, endings } = of(
      episode(1_000, 1_030, { ...critical, alertname: 'EventMatched', ending: 'quiet' }),
      episode(1_020, 1_040, { ...critical, alertname: 'ObjectiveBurning' }),
    );
    expect(figures.critical_downtime).toBe(0);
    expect([...endings.keys()]).toEqual(['over']);
  });

  test('says how long failures lasted that were mended within the month, with the time before it', () => {
    const { figures, endings } = of(
      episode(900, 999),
      episode(990, 1_010),
      episode(1_020, 1_024, { ending: 'by_hand' }),
      episode(1_030, 1_090, { ending: 'quiet' }),
      episode(1_040, 1_080, { alertname: 'BirdDeactivated' }),
      episode(1_090, 1_100),
    );
    expect(figures).toMatchObject({ median_time_to_recover: 12, longest_time_to_recover: 20 });
    expect([...endings].map(([ending, all]) => [ending, all.length])).toEqual([
      ['over', 2],
      ['by_hand', 1],
      ['quiet', 1],
    ]);
  });

  test('has no time to recover if nothing recovered', () => {
    const { median_time_to_recover: median, longest_time_to_recover: longest } = of().figures;
    expect([median, longest].some(Number.isFinite)).toBe(false);
  });

  test('puts the Birds that failed longest first, and the most frequent causes', () => {
    const timedOut = { bird_id: '2', error: 'timed out' };
    const { birds, causes } = of(
      episode(1_000, 1_010),
      episode(1_005, 1_015, { alertId: 'other rule' }),
      episode(1_020, 1_021, { labels: { region: 'us' } }),
      episode(1_040, 1_090, { labels: timedOut }),
    );
    expect(
      birds.map(({ newest, figures }) => [newest.labels.region, newest.labels.bird_id, figures]),
    ).toEqual([
      ['eu', '2', { times: 1, failing_for: 50 }],
      ['eu', '1', { times: 2, failing_for: 15 }],
      ['us', '1', { times: 1, failing_for: 1 }],
    ]);
    expect(causes.map(({ newest, figures }) => [newest.startsAtUs, figures])).toEqual([
      [1_020, { times: 3, failing_for: 16 }],
      [1_040, { times: 1, failing_for: 50 }],
    ]);
  });
});
