/** Writes alerts as Alertmanager's API v2 takes them (`POST /api/v2/alerts`). */

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

/** How often firing alerts are sent again. */
export const REPEAT_AFTER_US = 60_000_000;
/** An alert that is not sent again for this long resolves there by itself: four repetitions, as in Prometheus. */
export const ENDS_AFTER_US = 4 * REPEAT_AFTER_US;

/**
 * A firing alert gets an end some time after `nowUs`; it is sent again before that. An alert never ends before it
 * starts, which could happen if our clock is slow: Alertmanager would refuse all alerts of the request.
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

/**
 * Leaves out labels with an empty name or value, and repairs text that is not UTF-8: for a single one of either,
 * Alertmanager refuses all alerts of the request.
 */
function wellFormed(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels)
      .filter(([name, value]) => name !== '' && value !== '')
      .map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
}
