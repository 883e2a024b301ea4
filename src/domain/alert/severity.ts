import type { Labels } from './alert.ts';

export const RANKED_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
export type RankedSeverity = (typeof RANKED_SEVERITIES)[number];

/** What other words for severities mean. */
const ALSO: ReadonlyMap<string, RankedSeverity> = new Map([
  ['page', 'critical'],
  ['none', 'info'],
]);

/** The position of the severity in `RANKED_SEVERITIES`. Unknown ones count as errors, as in Alertmanager. */
export function severityRank({ severity = '' }: Labels): number {
  const word = severity.toLowerCase();
  const known = ALSO.get(word) ?? RANKED_SEVERITIES.find((one) => one === word);
  return RANKED_SEVERITIES.indexOf(known ?? 'error');
}
