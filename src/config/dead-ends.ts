/** Where alerts go to nobody: said when a configuration is checked, and for as long as the daemon runs with it. */
import { takesAlerts } from '../channels/traits.ts';
import type { Path } from '../document/problem.ts';
import type { Route } from '../domain/routing/route.ts';
import type { Config } from './config.ts';

interface DeadEnd {
  readonly path: Path;
  readonly receiver: string;
}

/** Receivers that are meant to notify nobody, as people call them in configurations of Alertmanager. */
const MEANT = new Set(['null', 'blackhole']);

/** Whether any route leads to somebody. */
export function isAnybodyNotified({ route, receivers }: Pick<Config, 'route' | 'receivers'>): boolean {
  const reached = new Set(nodesOf(route).map((node) => node.receiver));
  return receivers.some((one) => reached.has(one.name) && takesAlerts(one));
}

/** The routes whose alerts no receiver takes, but for those where that is meant. */
export function findDeadEnds({ route, receivers }: Pick<Config, 'route' | 'receivers'>): DeadEnd[] {
  const taking = new Set(receivers.filter(takesAlerts).map(({ name }) => name));
  return nodesOf(route)
    .filter(({ receiver }) => !taking.has(receiver) && !MEANT.has(receiver))
    .map(({ path, receiver }) => ({ path: placeOf(path), receiver }));
}

function nodesOf(route: Route): Route[] {
  return [route, ...route.routes.flatMap(nodesOf)];
}

/** `0.1.2` is `route.routes[1].routes[2]`. */
function placeOf(position: string): Path {
  const [, ...children] = position.split('.');
  return ['route', ...children.flatMap((index) => ['routes', Number(index)])];
}
