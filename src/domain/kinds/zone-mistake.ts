import { nearest } from '../../text/nearest.ts';
import { cronProblem } from '../../time/cron.ts';
import type { Given, Mistake } from './kind.ts';

/** What is wrong with `timezone`. Anything but a text is refused by its type. */
export function zoneMistakes(given: Given): Mistake[] {
  const zone = given('timezone') ?? 'UTC';
  const problem = typeof zone === 'string' ? cronProblem('0 0 * * *', zone) : undefined;
  if (typeof zone !== 'string' || problem === undefined) return [];
  const meant = nearest(zone, Intl.supportedValuesOf('timeZone'));
  const message = meant === undefined ? problem : `${problem}; did you mean ${meant}?`;
  return [{ key: 'timezone', isOfKey: false, message }];
}
