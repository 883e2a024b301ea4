/** Prints the route tree of a configuration as amtool does, without asking a daemon. */
import type { Labels } from '../../domain/alert/alert.ts';
import { formatMatcher, parseMatcher } from '../../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../domain/matchers/matcher-syntax.ts';
import { type Route, routesFor } from '../../domain/routing/route.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import type { Answer } from '../command-rows.ts';
import type { ConfigOptions } from '../config-file.ts';
import { configOf } from '../read-config.ts';

export function routesShow(edge: Edge, options: ConfigOptions): Answer {
  const { route } = configOf(edge, options);
  return { json: routeJson(route), text: `Routing tree:\n.\n${branch(route, '', '', true)}\n` };
}

/** Prints the receivers that alerts with these labels reach, in the order of the routes. */
export function routesTest(edge: Edge, labels: readonly string[], options: ConfigOptions): Answer {
  const { route } = configOf(edge, options);
  const receivers = routesFor(route, readLabels(labels)).map((one) => one.receiver);
  return { json: receivers, text: `${receivers.join(',')}\n` };
}

/** Labels are written `name=value`; a value with spaces or quotes as in matchers: `name="a b"`. */
function readLabels(args: readonly string[]): Labels {
  return Object.fromEntries(
    args.flatMap((arg) => {
      try {
        const matchers = parseMatcher(arg);
        if (matchers.length > 0 && matchers.every(({ op }) => op === '=')) {
          return matchers.map(({ name, value }) => [name, value]);
        }
      } catch (error) {
        if (!(error instanceof MatcherSyntaxError)) throw error;
      }
      throw new NestwatchError('usage', `labels must be given as name=value, not ${arg}`);
    }),
  );
}

/** Between two branches amtool uses non-breaking spaces. */
const BAR = '│\u00a0\u00a0 ';

/** A route's key is `parent/{matchers}`, with the parent's key and the matchers sorted; so what is shown is its end. */
function branch(route: Route, parentKey: string, indent: string, isLast: boolean): string {
  const { key, matchers, receiver, routes } = route;
  const what = matchers.length === 0 ? 'default-route' : key.slice(parentKey.length + 1);
  const line = [what, ...(route.continue ? ['continue: true'] : []), `receiver: ${receiver}`].join('  ');
  const below = indent + (isLast ? '    ' : BAR);
  const children = routes.map((child, index) => branch(child, key, below, index === routes.length - 1));
  return `${indent}${isLast ? '└── ' : '├── '}${line}\n${children.join('')}`;
}

interface RouteJson {
  readonly receiver: string;
  readonly matchers: readonly string[];
  readonly continue: boolean;
  readonly group_by: readonly string[];
  readonly routes: readonly RouteJson[];
}

function routeJson(route: Route): RouteJson {
  return {
    receiver: route.receiver,
    matchers: route.matchers.map(formatMatcher),
    continue: route.continue,
    group_by: route.groupBy === 'all' ? ['...'] : route.groupBy,
    routes: route.routes.map(routeJson),
  };
}
