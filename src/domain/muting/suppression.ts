/** Why nobody is notified of something that was decided: each reason is a series of the metric and a row in the store. */
export const SUPPRESSION_REASONS = [
  /** It ended while a silence hid it. */
  'silenced',
  /** It ended while another alert inhibited it. */
  'inhibited',
  /** It ended while its route was muted by the time of day. */
  'time_interval',
  /** The receiver's cap holds it back. */
  'receiver_cap',
  /** A summary counts it instead. */
  'too_old',
  /** The receiver has no integration that takes it. */
  'no_integration',
  /** Its delivery was left out. */
  'at_delivery',
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

export function isSuppressionReason(text: string): text is SuppressionReason {
  return SUPPRESSION_REASONS.some((reason) => reason === text);
}

/** What a group will never notify of one of its alerts. */
export interface Suppression {
  readonly alertId: string;
  /** The events with `afterSeq < seq <= lastSeq`; where both are the same, only the alert's end is suppressed. */
  readonly afterSeq: number;
  readonly lastSeq: number;
  readonly groupKey: string;
  readonly receiver: string;
  readonly reason: SuppressionReason;
  /** By whom or what, e.g. the ids of silences; for people. */
  readonly detail: string;
  readonly atUs: number;
}

/** Reasons that only put a notification off, or have it counted elsewhere: nothing is kept from anybody. */
const PUT_OFF: ReadonlySet<string> = new Set<SuppressionReason>(['receiver_cap', 'too_old']);

export function isPutOff({ reason }: Pick<Suppression, 'reason'>): boolean {
  return PUT_OFF.has(reason);
}
