import type { Words } from '../../../src/domain/kinds/kind.ts';
import { type AlertKind, KINDS } from '../../../src/domain/kinds/kinds.ts';

/** What messages and pages call the states of each kind: only the mails in `test/acceptance/mails` repeat it. */
export const WORDS = Object.fromEntries(KINDS.map(({ name, words }) => [name, words])) as Readonly<
  Record<AlertKind, Words>
>;
