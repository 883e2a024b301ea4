import { type Action, isOpen } from '../../domain/action/action.ts';
import { birdScope } from '../../domain/alert/fact.ts';
import { flightFailed } from '../../domain/kinds/failures/flight-failed.ts';
import type { Transaction } from '../store.ts';

/**
 * Stores what has become of actions. Alerts of Birds that have none open any more join their groups again, since what
 * failed meanwhile was not planned for. Returns whether there are any.
 */
export async function putActions(tx: Transaction, actions: readonly Action[]): Promise<boolean> {
  await tx.actions.put(actions);
  const over = actions.filter((one) => !isOpen(one));
  const found =
    over.length > 0
      ? await tx.alerts.ofScopes(over.map(({ region, birdId }) => birdScope(region, birdId)))
      : [];
  const failing = found.filter(
    ({ alertname, state }) => alertname === flightFailed.name && state === 'firing',
  );
  if (failing.length > 0) await tx.alerts.put(failing);
  return failing.length > 0;
}
