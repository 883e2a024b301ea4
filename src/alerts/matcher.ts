import type { Labels } from './alert.ts';

/** One condition on a label. A label that is absent counts as empty, as in Alertmanager. */
export interface Matcher {
  readonly name: string;
  readonly op: '=' | '!=' | '=~' | '!~';
  readonly value: string;
  matches(labels: Labels): boolean;
}
