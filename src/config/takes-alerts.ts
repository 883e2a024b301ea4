import type { Receiver } from './config.ts';

/** Whether a receiver is told of alerts: CloudEvents are for programs that want the events alone. */
export function takesAlerts({ integrations }: Receiver): boolean {
  return integrations.some((one) => !(one.kind === 'webhook' && one.format === 'cloudevents'));
}
