import { type Action, isOpen } from '../../domain/action/action.ts';
import { birdScope } from '../../domain/alert/fact.ts';
import { flightFailed } from '../../domain/kinds/failures/flight-failed.ts';
import type { Transaction } from '../store.ts';

/**
 * Stores what has become of actions. Alerts of Birds that have none open any more join their groups again, since what
 * failed meanwhile was not planned for.
 */
export async function putActions(tx: Transaction, actions: readonly Action[]): Promise<void> {
  await tx.actions.put(actions);
  const over = actions.filter((one) => !isOpen(one));
  const found = await tx.alerts.ofScopes(over.map(({ region, birdId }) => birdScope(region, birdId)));
  await tx.alerts.put(found.filter((one) => one.alertname === flightFailed.name && one.state === 'firing'));
}
