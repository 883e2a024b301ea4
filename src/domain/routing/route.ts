import { boundedKey, type Labels, labelOf } from '../alert/alert.ts';
import { goQuote, type Matcher, matchesAll } from '../matchers/matcher.ts';

/** What the template of a route's label may use. */
export interface LabelledGroup {
  readonly groupLabels: Labels;
  /** The labels that the group's alerts have in common. */
  readonly commonLabels: Labels;
}

/** A node of the route tree; settings that a node leaves out are already inherited from its parent. */
export interface Route {
  /** Position in the tree: `0` for the root, `0.1` for its second child. */
  readonly path: string;
  /**
   * Alertmanager's key: the matchers from the root down, such as `{}/{severity="critical"}`. Two nodes may share it.
   */
  readonly key: string;
  readonly receiver: string;
  readonly matchers: readonly Matcher[];
  readonly continue: boolean;
  /** Labels that define a group; `all` (written `...`) makes every set of labels its own group. */
  readonly groupBy: readonly string[] | 'all';
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly repeatIntervalMs: number;
  /** Each repetition without news waits this many times as long as the previous one; absent for 1. */
  readonly repeatBackoff?: number;
  /**
   * Which receiver is notified too of what still fires, unmuted, this long after the first notification; absent for
   * none.
   */
  readonly escalation?: { readonly afterMs: number; readonly receiver: string };
  /** Names of the time intervals that mute the route, and of those outside of which it is muted. */
  readonly muteTimeIntervals?: readonly string[];
  readonly activeTimeIntervals?: readonly string[];
  /** The values of its own and inherited labels for a group, for templates and programs; absent without any. */
  readonly writeLabels?: (group: LabelledGroup) => Labels;
  readonly routes: readonly Route[];
}

/**
 * The routes that these labels reach, depth first: a node's children in order, where the first match ends the search
 * unless it has `continue`; the node itself if no child matches. The root matches everything, so at least one route
 * is returned.
 */
export function routesFor(root: Route, labels: Labels): Route[] {
  const found = root.routes.length === 0 ? [] : childrenFor(root, labels);
  return found.length === 0 ? [root] : found;
}

function childrenFor(node: Route, labels: Labels): Route[] {
  const found: Route[] = [];
  for (const child of node.routes) {
    if (!matchesAll(child.matchers, labels)) continue;
    found.push(...routesFor(child, labels));
    if (!child.continue) break;
  }
  return found;
}

/** The node at `path`; undefined if the tree has none, for example after a change of the configuration. */
export function routeAt(root: Route, path: string): Route | undefined {
  if (root.path === path) return root;
  const child = root.routes.find((one) => path === one.path || path.startsWith(`${one.path}.`));
  return child && routeAt(child, path);
}

/**
 * The node that a group belongs to: where it was last seen, or wherever that node is after a change of the
 * configuration; undefined if the tree has none. It is identified by its key, not its place, which another node may
 * have taken.
 */
export function routeOfGroup(
  root: Route,
  group: { readonly key: string; readonly route: string; readonly labels: Labels },
): Route | undefined {
  const isIts = (route: Route) => groupKey(root, route, group.labels) === group.key;
  const there = routeAt(root, group.route);
  return there && isIts(there) ? there : treeOf(root).nodes.find(isIts);
}

interface Tree {
  /** All nodes, each before those below it. */
  readonly nodes: readonly Route[];
  /** By path, what distinguishes a node from those with its key that come before it. */
  readonly suffixes: ReadonlyMap<string, string>;
}

/** Every group that is looked for may ask all nodes, so each tree is walked once. */
const TREES = new WeakMap<Route, Tree>();

function treeOf(root: Route): Tree {
  const known = TREES.get(root);
  if (known) return known;
  const nodes = nodesOf(root);
  const twins = [...Map.groupBy(nodes, ({ key }) => key).values()];
  const suffixes = new Map(
    twins.flatMap((all) => all.map((route, at) => [route.path, twinSuffix(route, all.slice(0, at))])),
  );
  const tree = { nodes, suffixes };
  TREES.set(root, tree);
  return tree;
}

function nodesOf(node: Route): Route[] {
  return [node, ...node.routes.flatMap(nodesOf)];
}

/** The labels that a group of this route has in common. A missing label is left out, as in Alertmanager. */
export function groupLabels(route: Route, labels: Labels): Labels {
  const names = route.groupBy === 'all' ? Object.keys(labels) : route.groupBy;
  const entries = names.flatMap((name) => {
    const value = labelOf(labels, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Alertmanager's text: the route's key, a colon, the group's labels: `{}/{severity="critical"}:{alertname="X"}`. In
 * Alertmanager routes with the same matchers have the same key. Groups are stored by key, so the later ones of such
 * routes have their receiver in it, `{}/{}#ops`, and a number if it has several. So a route that is added or removed
 * beside them changes none, unless it is the first. A key too long for an index, such as with a matcher that lists
 * hundreds of ids, is cut, with a digest of the whole appended.
 */
export function groupKey(root: Route, route: Route, labels: Labels): string {
  const pairs = Object.entries(groupLabels(route, labels)).map(
    ([name, value]) => `${name}=${goQuote(value)}`,
  );
  return boundedKey(`${route.key}${treeOf(root).suffixes.get(route.path) ?? ''}:{${pairs.join(', ')}}`);
}

/** Distinguishes the node from those with its key that come `before` it in the tree. */
function twinSuffix({ receiver }: Route, before: readonly Route[]): string {
  if (before.length === 0) return '';
  const own = before.slice(1).filter((one) => one.receiver === receiver).length;
  return `#${receiver}${own === 0 ? '' : `#${own + 1}`}`;
}
