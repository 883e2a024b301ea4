/** A real Prometheus with our rules scrapes the demo: which of them fire, and whether every panel has data. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DASHBOARDS } from '../docs/dashboards/dashboards.ts';
import { openDemo, openPrometheus } from './live-prometheus.ts';

/** The demo shows in a minute what takes half an hour in production. */
const TIMES_FASTER = 30;

/** What the demo's story always leads to; how many of a Nest's or Bird's Flights fail is random. */
const STORY = ['BirdSuspended', 'ConnectionGivenUp'];
const CHANCE = ['BirdFlightsFailing', 'NestFlightsFailing'];

const RULES = readFileSync(join(import.meta.dirname, '../../config/prometheus/rules.yml'), 'utf8');
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** The rules with every duration shortened by that factor; thresholds stay. */
function faster(rules: string): string {
  return rules.replace(
    /(\bfor: |\[)(\d+)([smh])\b/g,
    (_, before: string, count: string, unit: string) =>
      `${before}${Math.max(4, Math.ceil((Number(count) * SECONDS[unit]!) / TIMES_FASTER))}s`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-prometheus-'));
let demo: Awaited<ReturnType<typeof openDemo>>;
let prometheus: Awaited<ReturnType<typeof openPrometheus>>;

beforeAll(async () => {
  demo = await openDemo();
  prometheus = await openPrometheus(folder, demo.page, faster(RULES));
});

afterAll(async () => {
  await prometheus.stop();
  expect(await demo.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

test('it is scraped, in both regions, with event keys as exemplars', async () => {
  expect(await prometheus.query('nestwatch_region_up == 1')).toHaveLength(2);
  expect(await prometheus.query('nestwatch_ready == 1')).toHaveLength(1);
  expect((await prometheus.query('sum(nestwatch_flight_failures_total)'))[0]!.value).toBeGreaterThan(0);
  const [exemplar] = await prometheus.exemplars('nestwatch_flight_failures_total');
  const key = encodeURIComponent(exemplar!.event_key!);
  expect((await fetch(`${demo.page}api/v1/events/${key}/explain`)).status).toBe(200);
});

test('the rules about what happens in the demo fire, and no other', { timeout: 300_000 }, async () => {
  const fired = new Set<string>();
  const look = async () => {
    for (const name of await prometheus.firing()) if (!CHANCE.includes(name)) fired.add(name);
    return [...fired].sort();
  };
  await expect.poll(look, { timeout: 240_000, interval: 500 }).toEqual(STORY);
  // A while longer: no other alert follows.
  for (let seconds = 0; seconds < 15; seconds += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await look()).toEqual(STORY);
  }
});

describe('dashboards', () => {
  const panels = DASHBOARDS.flatMap(({ dashboard }) =>
    dashboard.panels.flatMap((panel) =>
      panel.queries.map(({ expr }) => [dashboard.title, panel.title, expr] as const),
    ),
  );

  test.each(panels)('%s, %s has data', async (_, __, expr) => {
    const [failing] = await prometheus.query('topk(1, nestwatch_flights_ended_total{status="failed"} > 0)');
    const { region = '', nest_id = '', bird_id = '' } = failing!.metric;
    // As Grafana fills in its variables.
    const filled = expr
      .replaceAll('region=~"$region"', 'region=~".*"')
      .replaceAll('$region', region)
      .replaceAll('$nest', nest_id)
      .replaceAll('$bird', bird_id)
      .replaceAll('$__rate_interval', '1m')
      .replaceAll('$__range', '5m');
    expect(filled).not.toContain('$');
    const data = await prometheus.query(filled);
    expect(data.filter(({ value }) => !Number.isNaN(value))).not.toEqual([]);
  });

  test.each(DASHBOARDS.flatMap(({ dashboard }) => dashboard.variables))(
    '$label can be chosen: $query',
    async ({ query, regex }) => {
      const expression = /^(?:label_values|query_result)\((nestwatch_\w+)/.exec(query)![1]!;
      const results = await prometheus.query(expression);
      expect(results).not.toEqual([]);
      if (!regex) return;
      // As Grafana writes a result of `query_result`: name, labels by name, value, instant.
      const { metric } = results[0]!;
      const labels = Object.entries(metric).filter(([name]) => name !== '__name__');
      const written = `${metric.__name__}{${labels.map(([name, value]) => `${name}="${value}"`).join(',')}} 1 1`;
      const found = new RegExp(regex.slice(1, -1)).exec(written)!.groups!;
      expect(Object.values(metric)).toEqual(expect.arrayContaining([found.text, found.value]));
    },
  );
});
