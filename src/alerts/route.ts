import type { Matcher } from './matcher.ts';

/** A node of the route tree; settings that a node leaves out are already inherited from its parent. */
export interface Route {
  /** Position in the tree: `0` for the root, `0.1` for its second child. */
  readonly path: string;
  /** Alertmanager's key: the matchers from the root down, e.g. `{}/{severity="critical"}`. */
  readonly key: string;
  readonly receiver: string;
  readonly matchers: readonly Matcher[];
  readonly continue: boolean;
  /** Labels that make a group; `all` (written `...`) makes every set of labels a group of its own. */
  readonly groupBy: readonly string[] | 'all';
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly repeatIntervalMs: number;
  readonly routes: readonly Route[];
}
