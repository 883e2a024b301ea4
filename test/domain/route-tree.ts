/** Route trees for tests, written as nodes that inherit what they leave out. */
import { formatMatcher, parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { Route } from '../../src/domain/routing/route.ts';

type Settings = Partial<Omit<Route, 'path' | 'key' | 'matchers' | 'routes'>>;

export interface Node extends Settings {
  readonly matchers: Route['matchers'];
  readonly routes: readonly Node[];
}

export function node(matchers: string, settings: Settings = {}, routes: readonly Node[] = []): Node {
  return { ...settings, matchers: parseMatchers(matchers), routes };
}

const DEFAULTS = {
  receiver: 'ops',
  groupBy: ['alertname', 'region', 'nest'],
  groupWaitMs: 30_000,
  groupIntervalMs: 300_000,
  repeatIntervalMs: 14_400_000,
} as const;

export function tree(root: Node, parent?: Route, path = '0'): Route {
  const { routes, matchers, ...settings } = root;
  const own = `{${matchers.map(formatMatcher).join(',')}}`;
  const inherited = parent ?? DEFAULTS;
  const route: Route = {
    receiver: inherited.receiver,
    groupBy: inherited.groupBy,
    groupWaitMs: inherited.groupWaitMs,
    groupIntervalMs: inherited.groupIntervalMs,
    repeatIntervalMs: inherited.repeatIntervalMs,
    continue: false,
    ...settings,
    path,
    key: parent ? `${parent.key}/${own}` : own,
    matchers,
    routes: [],
  };
  return { ...route, routes: routes.map((child, index) => tree(child, route, `${path}.${index}`)) };
}
