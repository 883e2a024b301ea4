import type { Alert } from './alert.ts';

/** An alert that fired or resolved. */
interface Transition {
  readonly alert: Alert;
  readonly state: 'firing' | 'resolved';
}

/** Which of the changed alerts entered another state that people are told about. */
export function transitions(before: readonly Alert[], after: readonly Alert[]): Transition[] {
  const states = new Map(before.map((alert) => [alert.id, alert.state]));
  return after.flatMap((alert) => {
    const was = states.get(alert.id) ?? 'pending';
    if (alert.state === was || alert.state === 'pending') return [];
    return [{ alert, state: alert.state }];
  });
}
