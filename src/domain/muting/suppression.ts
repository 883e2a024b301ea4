/** Why nobody is notified of something: each reason is a series of the metric and may be stored. */
export const SUPPRESSION_REASONS = [
  /** It ended while a silence muted it. */
  'silenced',
  /** It ended while another alert inhibited it. */
  'inhibited',
  /** It ended while a time interval muted its route. */
  'time_interval',
  /** The receiver's cap holds it back. */
  'receiver_cap',
  /** A summary counts it instead. */
  'too_old',
  /** The receiver has no integration that takes it. */
  'no_integration',
  /** Its delivery was suppressed. */
  'at_delivery',
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

export function isSuppressionReason(text: string): text is SuppressionReason {
  return SUPPRESSION_REASONS.some((reason) => reason === text);
}

/** What a group will never notify of one of its alerts. */
export interface Suppression {
  readonly alertId: string;
  /** The events with `afterSeq < seq <= lastSeq`; if both are equal, only the alert's end is suppressed. */
  readonly afterSeq: number;
  readonly lastSeq: number;
  readonly groupKey: string;
  readonly receiver: string;
  readonly reason: SuppressionReason;
  /** By whom or what, such as the ids of silences; for people. */
  readonly detail: string;
  readonly atUs: number;
}

/** Reasons that only postpone a notification or count it elsewhere: nothing is withheld from anybody. */
const PUT_OFF: ReadonlySet<string> = new Set<SuppressionReason>(['receiver_cap', 'too_old']);

export function isPutOff({ reason }: Pick<Suppression, 'reason'>): boolean {
  return PUT_OFF.has(reason);
}
