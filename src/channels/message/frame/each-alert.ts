/** Makes the links to each alert of a message about several: to its page, and to acknowledge it. */
import type { NotifiedAlert } from '../../../domain/grouping/notification.ts';
import { alertPath } from '../../../http/page-path.ts';
import { commonLabels, placeWithin } from '../alert-subject.ts';
import { linkable } from '../encode.ts';

/** With more than a screen of them the page is shorter. */
const MAX_EACH = 6;

export interface EachAlert {
  /** Its Bird or entity, with its Nest and region where those differ. */
  readonly name: string;
  readonly url: string;
  /** Absent if no link can acknowledge it. */
  readonly acknowledgeUrl?: string;
}

/** Links to the first firing alerts; the page leads to more. Empty if there is no page to link to. */
export function eachAlert(alerts: readonly NotifiedAlert[], externalUrl: string): readonly EachAlert[] {
  const open = alerts.filter(({ status }) => status === 'firing');
  // If only one fires, the links of the whole message lead to it.
  if (open.length < 2) return [];
  const shared = commonLabels(alerts);
  return open.slice(0, MAX_EACH).flatMap((alert) => {
    const url = linkable(`${externalUrl}/${alertPath(alert.id)}`);
    const acknowledgeUrl = alert.acknowledgeUrl && linkable(alert.acknowledgeUrl);
    return url === undefined
      ? []
      : [{ name: placeWithin(alert, shared), url, ...(acknowledgeUrl && { acknowledgeUrl }) }];
  });
}
