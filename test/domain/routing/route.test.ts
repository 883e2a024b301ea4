import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  groupKey,
  groupLabels,
  type Route,
  routeAt,
  routeOfGroup,
  routesFor,
} from '../../../src/domain/routing/route.ts';
import { node, tree } from '../route-tree.ts';

const NAMES = ['a', 'b', 'c'] as const;
const labelSet = fc.record(
  { a: fc.constantFrom('x', 'y'), b: fc.constantFrom('x', 'y'), c: fc.constantFrom('x', 'y') },
  { requiredKeys: [] },
);
const { anyTree } = fc.letrec<{ anyTree: ReturnType<typeof node> }>((tie) => ({
  anyTree: fc
    .record({
      matchers: fc.array(
        fc
          .tuple(
            fc.constantFrom(...NAMES),
            fc.constantFrom('=', '!=', '=~', '!~'),
            fc.constantFrom('x', 'y', ''),
          )
          .map(([name, op, value]) => `${name}${op}"${value}"`),
        { maxLength: 2 },
      ),
      continue: fc.boolean(),
      routes: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('anyTree'), { maxLength: 3 })),
    })
    .map(({ matchers, routes, ...rest }) => node(matchers.join(','), rest, routes)),
}));

const receivers = (root: Route, labels: Record<string, string>) =>
  routesFor(root, labels).map((route) => route.receiver);

describe('routesFor', () => {
  const root = tree(
    node('', { receiver: 'ops' }, [
      node('severity="critical"', { receiver: 'pager', continue: true }),
      node('region="us"', { receiver: 'us' }, [
        node('nest="Prod"', { receiver: 'us-prod', continue: true }),
        node('alertname=~"Bird.*"', { receiver: 'us-birds' }),
      ]),
      node('region="eu"', { receiver: 'eu' }),
      node('region=~".+"', { receiver: 'elsewhere' }),
    ]),
  );

  test.each([
    ['the root where no child matches', {}, ['ops']],
    ['the last child', { region: 'ap' }, ['elsewhere']],
    ['a child', { region: 'eu' }, ['eu']],
    ['two, by continue', { region: 'eu', severity: 'critical' }, ['pager', 'eu']],
    ['a parent whose children do not match', { region: 'us' }, ['us']],
    ['a grandchild', { region: 'us', alertname: 'BirdDeactivated' }, ['us-birds']],
    [
      'two grandchildren',
      { region: 'us', nest: 'Prod', alertname: 'BirdDeactivated' },
      ['us-prod', 'us-birds'],
    ],
    ['one grandchild, although it continues', { region: 'us', nest: 'Prod' }, ['us-prod']],
  ])('reaches %s', (_what, labels, expected) => {
    expect(receivers(root, labels)).toEqual(expected);
  });

  test('reaches at least one route for every tree and label set, and only routes whose matchers match', () => {
    fc.assert(
      fc.property(anyTree, labelSet, (shape, labels) => {
        const whole = tree({ ...shape, matchers: [] });
        const found = routesFor(whole, labels);
        expect(found.length).toBeGreaterThan(0);
        expect(new Set(found.map((route) => route.path)).size).toBe(found.length);
        for (const route of found) expect(route.matchers.every((one) => one.matches(labels))).toBe(true);
      }),
    );
  });

  test('without continue only one route is reached', () => {
    fc.assert(
      fc.property(anyTree, labelSet, (shape, labels) => {
        const withoutContinue = (one: typeof shape): typeof shape => ({
          ...one,
          continue: false,
          routes: one.routes.map(withoutContinue),
        });
        expect(routesFor(tree({ ...withoutContinue(shape), matchers: [] }), labels)).toHaveLength(1);
      }),
    );
  });
});

describe('groups', () => {
  const labels = { alertname: 'FlightFailed', region: 'eu', nest: 'Märkte "x"\n', bird: 'B' };

  test.each([
    [['alertname', 'region'], '{}:{alertname="FlightFailed", region="eu"}'],
    [['region', 'alertname', 'absent', 'constructor'], '{}:{alertname="FlightFailed", region="eu"}'],
    [['nest'], '{}:{nest="Märkte \\"x\\"\\n"}'],
    [[], '{}:{}'],
  ])("by %j have Alertmanager's key", (groupBy, key) => {
    const root = tree(node('', { groupBy }));
    expect(groupKey(root, root, labels)).toBe(key);
  });

  test('by `...` have all labels', () => {
    const root = tree(node('', { groupBy: 'all' }));
    expect(groupLabels(root, labels)).toEqual(labels);
  });

  test("have their route's matchers in the key", () => {
    const root = tree(node('', {}, [node('severity="critical"', { groupBy: ['alertname'] })]));
    expect(groupKey(root, root.routes[0]!, labels)).toBe(
      '{}/{severity="critical"}:{alertname="FlightFailed"}',
    );
  });

  test.each([
    ['letters', 'x'],
    ['characters of three bytes', '東'],
    ['pairs of surrogates', '😀'],
  ])('have a key of bounded length, which differs for %s that differ only at the end', (_, letter) => {
    const root = tree(node('', { groupBy: ['nest', 'bird'] }));
    const keyOf = (nest: string) => groupKey(root, root, { ...labels, nest });
    const long = letter.repeat(3_000);
    expect(Buffer.byteLength(keyOf(long))).toBeLessThan(2_000);
    expect(keyOf(`${long}a`)).not.toBe(keyOf(`${long}b`));
    expect(keyOf(long)).toBe(keyOf(long));
    expect(keyOf(long).isWellFormed()).toBe(true);
    expect(keyOf('x'.repeat(1_900))).toMatch(/^\{\}:\{bird="B", nest="x{1900}"\}$/);
  });

  test('are looked for in a large tree without walking it once for each route', () => {
    let reads = 0;
    const counted = (route: Route): Route => ({
      ...route,
      routes: route.routes.map(counted),
      get key() {
        reads += 1;
        return route.key;
      },
    });
    const children = Array.from({ length: 200 }, (_, at) => node(`nest="${at}"`));
    const root = counted(tree(node('', {}, children)));
    expect(routeOfGroup(root, { key: 'gone', route: '0.7', labels: {} })).toBeUndefined();
    expect(reads).toBeLessThan(1_000);
  });

  test('of different routes never share a key', () => {
    fc.assert(
      fc.property(anyTree, labelSet, (shape, labelsOf) => {
        const root = tree(shape);
        const all: Route[] = [];
        const walk = (route: Route): void => {
          all.push(route);
          route.routes.forEach(walk);
        };
        walk(root);
        const keys = all.map((route) => groupKey(root, { ...route, groupBy: [] }, labelsOf));
        expect(new Set(keys).size).toBe(all.length);
        for (const route of all) expect(routeAt(root, route.path)).toBe(route);
      }),
    );
  });
});

test('a path that does not exist in the tree leads nowhere', () => {
  const root = tree(node('', {}, [node('a="x"')]));
  expect([routeAt(root, '0.1'), routeAt(root, '0.0.0'), routeAt(root, '1')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
