/** Dashboards query metrics that exist, with variables that they have. */
import { expect, test } from 'vitest';
import { BIRD_METRICS, METRICS } from '../../src/observe/metric-catalogue.ts';
import { dashboardJson } from './dashboards/dashboard.ts';
import { DASHBOARDS } from './dashboards/dashboards.ts';

const metrics = [...Object.values(METRICS), ...Object.values(BIRD_METRICS)];
const THERE = new Map<string, readonly string[]>(metrics.map(({ name, labels }) => [name, labels]));

test.each(DASHBOARDS.map(({ dashboard }) => dashboard))(
  '$title queries existing metrics and labels',
  ({ panels, variables }) => {
    const expressions = [
      ...panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)),
      ...variables.map(({ query }) => query),
    ];
    for (const expression of expressions) {
      for (const [, name = '', selector = ''] of expression.matchAll(/(nestwatch_\w+)(?:\{([^}]*)\})?/g)) {
        const labels = THERE.get(name) ?? THERE.get(name.replace(/_bucket$/, ''));
        expect(labels, name).toBeDefined();
        for (const [, label = ''] of selector.matchAll(/(\w+)[=!]~?"/g))
          expect(labels, name).toContain(label);
      }
      for (const [, used = ''] of expression.matchAll(/\$(\w+)/g)) {
        expect(['__range', '__rate_interval', ...variables.map(({ name }) => name)]).toContain(used);
      }
    }
  },
);

test('each has its own uid, and no panel overlaps another', () => {
  expect(new Set(DASHBOARDS.map(({ dashboard }) => dashboard.uid)).size).toBe(DASHBOARDS.length);
  for (const { dashboard } of DASHBOARDS) {
    const { panels } = dashboardJson(dashboard) as {
      panels: { gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}/${y + Math.floor(at / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
  }
});
