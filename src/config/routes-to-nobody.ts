/** Finds routes that notify nobody; reported when a configuration is checked, and while the daemon runs with it. */
import { takesAlerts } from '../channels/integration-identity.ts';
import type { Path } from '../document/problem.ts';
import type { Route } from '../domain/routing/route.ts';
import type { Config } from './config.ts';

interface RouteToNobody {
  /** The path of the route or of its `escalate_to`. */
  readonly path: Path;
  /** The path of the key that names the receiver. */
  readonly key: Path;
  readonly receiver: string;
}

/** Receivers that are meant to notify nobody, by names that people use in Alertmanager's configurations. */
const MEANT = new Set(['null', 'blackhole']);

/** Whether any route leads to a receiver that notifies somebody. */
export function isAnybodyNotified({ route, receivers }: Pick<Config, 'route' | 'receivers'>): boolean {
  const reached = new Set(nodesOf(route).map((node) => node.receiver));
  return receivers.some((one) => reached.has(one.name) && takesAlerts(one));
}

/** The routes whose alerts no receiver takes, or whose escalations none takes, except those where that is intended. */
export function findRoutesToNobody({
  route,
  receivers,
}: Pick<Config, 'route' | 'receivers'>): RouteToNobody[] {
  const taking = new Set(receivers.filter(takesAlerts).map(({ name }) => name));
  const isDead = (receiver: string) => !taking.has(receiver) && !MEANT.has(receiver);
  return [
    ...nodesOf(route).map(({ path, receiver }) => {
      const place = placeOf(path);
      return { path: place, key: [...place, 'receiver'], receiver };
    }),
    ...escalationsOf(route).map(({ path, receiver }) => {
      const place = [...placeOf(path), 'escalate_to'];
      return { path: place, key: place, receiver };
    }),
  ].filter(({ receiver }) => isDead(receiver));
}

/** Second receivers, each at the route that names it, not at routes that inherit it. */
function escalationsOf(
  { path, escalation, routes }: Route,
  inherited?: string,
): { readonly path: string; readonly receiver: string }[] {
  const receiver = escalation?.receiver;
  const own = receiver === undefined || receiver === inherited ? [] : [{ path, receiver }];
  return [...own, ...routes.flatMap((child) => escalationsOf(child, receiver))];
}

/** The route and all below it. */
export function nodesOf(route: Route): Route[] {
  return [route, ...route.routes.flatMap(nodesOf)];
}

/** For example, `0.1.2` is `route.routes[1].routes[2]`. */
function placeOf(position: string): Path {
  const [, ...children] = position.split('.');
  return ['route', ...children.flatMap((index) => ['routes', Number(index)])];
}
