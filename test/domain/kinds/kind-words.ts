import type { Words } from '../../../src/domain/kinds/kind.ts';
import { type AlertKind, KINDS } from '../../../src/domain/kinds/kinds.ts';

/**
 * The words in which messages and pages describe the states of each kind. Only the mails in `test/acceptance/mails`
 * repeat them.
 */
export const WORDS = Object.fromEntries(KINDS.map(({ name, words }) => [name, words])) as Readonly<
  Record<AlertKind, Words>
>;
