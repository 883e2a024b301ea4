import type { Alert } from '../domain/alert/alert.ts';
import type { Transaction } from '../store/store.ts';

/** Who acts on an alert, and why. */
export interface Signature {
  readonly createdBy: string;
  readonly comment: string;
}

export type FoundAlert =
  | { readonly ok: true; readonly alert: Alert }
  | { readonly ok: false; readonly problem: 'not_found' | 'invalid'; readonly message: string };

/** Finds an alert. `startsAtUs` names the intended episode, if it is known. */
export async function findAlert(tx: Transaction, id: string, startsAtUs?: number): Promise<FoundAlert> {
  const alert = await tx.alerts.find(id);
  if (!alert) return { ok: false, problem: 'not_found', message: 'there is no such alert' };
  if (startsAtUs === undefined || alert.startsAtUs === startsAtUs) return { ok: true, alert };
  return { ok: false, problem: 'invalid', message: 'the alert was resolved, and has fired anew since' };
}
