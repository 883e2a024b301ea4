import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { refuseTemplates } from '../../document/read-template.ts';
import { twins } from '../../document/value-shape.ts';
import type { Labels } from '../../domain/alert/alert.ts';
import { alertPath } from '../../http/page-path.ts';
import { mistakeInBaseUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import { derivedSecret, type Secret } from '../../secret.ts';
import { formatInstant } from '../../time/instant.ts';
import { NO_DIGEST, type RepeatedAlert } from '../channel.ts';
import type { AlertJson } from '../message/alertmanager-body.ts';
import { type PostIntegration, type PostRequest, postChannel } from '../post-channel.ts';
import { postKeys, refuseCap } from '../post-config.ts';

type PushedAlert = Pick<AlertJson, 'labels' | 'annotations' | 'startsAt' | 'endsAt' | 'generatorURL'>;

/** How often firing alerts are sent again. */
const REPEAT_AFTER_US = 60_000_000;
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

export interface AlertmanagerIntegration extends PostIntegration {
  readonly kind: 'alertmanager';
  /** Alertmanager's address without `/api/v2/alerts` and without a trailing slash. */
  readonly url: Secret;
}

const alertmanagerShape = z
  .strictObject({
    ...twins('url', 'Address of an Alertmanager; `/api/v2/alerts` is added. Required.'),
    ...postKeys(true),
  })
  .describe(
    'Sends the alerts to another Alertmanager. Firing alerts are sent again every minute; there, an alert ends 4 minutes after it was last sent. Silences and acknowledgements do not reach it: an alert that it was told of is sent again as long as it fires, and if it ends while a silence mutes it, only those 4 minutes end it there. To mute an alert there, silence it in that Alertmanager.',
  );

export const alertmanagerChannel = postChannel<AlertmanagerIntegration>({
  kind: 'alertmanager',
  audience: 'programs',
  pace: { inFlight: 4, claimed: 32 },
  shape: alertmanagerShape,
  reader(check) {
    const http = httpReader(check);
    return (path) => readAlertmanager(check, path, http);
  },
  traits: () => ({ needsEveryState: true }),
  request: (integration, notification, externalUrl, nowUs) =>
    notification.kind === 'digest' ? NO_DIGEST : push(integration, notification.alerts, externalUrl, nowUs),
  repeats: { everyMs: REPEAT_AFTER_US / 1000, request: push },
});

function push(
  { url }: AlertmanagerIntegration,
  alerts: readonly RepeatedAlert[],
  externalUrl: string,
  nowUs: number,
): PostRequest {
  return { url: `${url.reveal()}/api/v2/alerts`, body: pushedAlerts(alerts, externalUrl, nowUs) };
}

const API_PATH = /\/api\/v[12](?:\/alerts)?\/*$/;

function mistakeInAddress(text: string): string | undefined {
  const mistake = mistakeInBaseUrl(text);
  if (mistake !== undefined || !API_PATH.test(text)) return mistake;
  return 'must end before `/api/`: `/api/v2/alerts` is added';
}

function readAlertmanager(
  check: Check,
  path: Path,
  readHttp: HttpReader,
): AlertmanagerIntegration | undefined {
  refuseTemplates(check, path, alertmanagerShape);
  const url = check.secret(path, 'url', { isRequired: true, mistake: mistakeInAddress });
  const http = readHttp(path);
  const alertmanager = check.read(alertmanagerShape, path);
  refuseCap(check, path, 'an Alertmanager has limits of its own');
  if (!alertmanager || !url) return undefined;
  return {
    kind: 'alertmanager',
    url: derivedSecret(url, withoutTrailingSlash),
    timeoutMs: alertmanager.timeout,
    ...(http && { http }),
    sendResolved: alertmanager.send_resolved,
  };
}
