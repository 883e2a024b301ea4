/** Alerts as Alertmanager's API v2 takes them (`POST /api/v2/alerts`). */

import type { Labels } from '../../domain/alert/alert.ts';
import { alertPath } from '../../http/page-path.ts';
import { formatInstant } from '../../time/instant.ts';
import type { RepeatedAlert } from '../channel.ts';

interface PushedAlert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
}

/** How often what fires is sent again. */
export const REPEAT_AFTER_US = 60_000_000;
/** An alert ends by itself when it was not sent again for this long: four repetitions, as Prometheus has it. */
export const ENDS_AFTER_US = 4 * REPEAT_AFTER_US;

/**
 * An alert that fires is said to end a while after `nowUs`; it is sent again before that. What ends before it begins, as
 * seen by a clock of ours that is slow, Alertmanager refuses, and all alerts beside it.
 */
export function pushedAlerts(
  alerts: readonly RepeatedAlert[],
  externalUrl: string,
  nowUs: number,
): PushedAlert[] {
  return alerts.map(({ id, labels, annotations, startsAtUs, endsAtUs }) => ({
    labels: wellFormed(labels),
    annotations: wellFormed(annotations),
    startsAt: formatInstant(startsAtUs),
    endsAt: formatInstant(
      endsAtUs === 0 ? Math.max(nowUs, startsAtUs) + ENDS_AFTER_US : Math.max(endsAtUs, startsAtUs),
    ),
    generatorURL: `${externalUrl}/${alertPath(id)}`,
  }));
}

/** Alertmanager refuses all alerts of a request for one empty name or text that is not UTF-8. */
function wellFormed(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels)
      .filter(([name, value]) => name !== '' && value !== '')
      .map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
}
