import type { Alert, Ending } from '../../alert/alert.ts';
import { birdOfScope, type FactOf } from '../../alert/fact.ts';
import { type Change, clear } from '../../alert/lifecycle.ts';
import type { Context } from '../kind.ts';

/** Ends an alert about the inventory, because `by`: a clause for people. */
export function putRight(
  { scope, subject }: Alert,
  by: string,
  ending: Ending = 'over',
): FactOf<'put_right'> {
  const { region, birdId } = birdOfScope(scope) ?? { region: scope, birdId: '' };
  return {
    fact: 'put_right',
    place: { region, nestId: '', nest: '', birdId, bird: '' },
    subject,
    by,
    ending,
  };
}

/** What `put_right` does to an alert of its scope. */
export function observePutRight(
  alert: Alert,
  { subject, by, ending }: FactOf<'put_right'>,
  { nowUs }: Pick<Context, 'nowUs'>,
): Change | undefined {
  return alert.subject === subject ? clear(alert, nowUs, by, nowUs, ending) : undefined;
}
