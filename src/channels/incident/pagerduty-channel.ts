import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, template } from '../../document/read-template.ts';
import { refuseTemplates } from '../../document/refuse-templates.ts';
import { keysWithoutEffect, refusedKeys } from '../../document/refused-key.ts';
import { twins, words } from '../../document/value-shape.ts';
import type { RankedSeverity } from '../../domain/alert/severity.ts';
import { type Secret, secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { NO_DIGEST } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, type PostRequest, postChannel } from '../post-channel.ts';
import { postKeys, refuseCap, urlAt } from '../post-config.ts';
import { pagerdutyChange, pagerdutyEvent } from './pagerduty-event.ts';

const DEFAULT_URL = 'https://events.pagerduty.com/v2/enqueue';

export interface PagerdutyIntegration extends PostIntegration {
  readonly kind: 'pagerduty';
  readonly routingKey: Secret;
  /** Replaces the alerts' own severity; null to use theirs. */
  readonly severity: RankedSeverity | null;
  readonly description?: Template;
}

const WORDS = [
  'Events API v2: one incident per group. It is acknowledged when every firing alert of the group is acknowledged in nestwatch, and resolved when all are resolved.',
  'PagerDuty is told about each group separately, even where other receivers get one message for several: about everything that was held back, and, in the summary after an outage, about what still fires.',
  'An incident opened as a `fallback` is acknowledged and resolved there, too.',
  'While an acknowledged alert still fires, the incident stays open even if the others are resolved. The incident is resolved even if a silence mutes the resolved message.',
].join(' ');

const pagerdutyShape = z
  .strictObject({
    ...twins('routing_key', 'The integration key of a service, for Events API v2. Required.'),
    url: words.optional().describe('Overrides `pagerduty_url`.'),
    severity: z
      .enum(['critical', 'error', 'warning', 'info'])
      .optional()
      .describe("Replaces the alerts' own severity, of which the worst counts."),
    description: template("of the incident's summary"),
    ...postKeys(true),
    ...refusedKeys(
      ['service_key', 'service_key_file'],
      'use `routing_key` with an integration of Events API v2',
    ),
    ...keysWithoutEffect(
      ['client', 'client_url', 'details', 'images', 'links', 'source', 'component', 'group', 'class'],
      'leave it out, it is filled in',
    ),
  })
  .describe(WORDS);

export const pagerdutyChannel = postChannel<PagerdutyIntegration>({
  kind: 'pagerduty',
  audience: 'incidents',
  pace: { inFlight: 4, claimed: 16 },
  shape: pagerdutyShape,
  globalShape: {
    pagerduty_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: 'Address to which events for PagerDuty are sent.' }),
  },
  reader(check) {
    const shared = urlAt(check, ['global', 'pagerduty_url']) ?? DEFAULT_URL;
    const http = httpReader(check);
    return (path) => readPagerduty(check, path, http, shared);
  },
  request: pagerdutyRequest,
});

export function pagerdutyRequest(
  integration: PagerdutyIntegration,
  notification: Readable,
  externalUrl: string,
): PostRequest | string {
  if (notification.kind === 'digest') return NO_DIGEST;
  const { severity, description } = integration;
  const url = integration.url.reveal();
  const routingKey = integration.routingKey.reveal();
  const change = pagerdutyChange(notification, { routingKey });
  if (change) return { url, body: change };
  const { texts, notes, error } = renderTexts({ description }, notification, externalUrl);
  const style = { routingKey, severity };
  const body = pagerdutyEvent(notification, externalUrl, style, texts.description, notes);
  return { url, body, templateError: error };
}

function readPagerduty(
  check: Check,
  path: Path,
  readHttp: HttpReader,
  shared: string,
): PagerdutyIntegration | undefined {
  refuseTemplates(check, path, pagerdutyShape, ['description']);
  // With the key of the older API, the problem with that is the only one reported.
  const hasOldKey = isGiven(check, path, 'service_key');
  const routingKey = check.secret(path, 'routing_key', { isRequired: !hasOldKey });
  const url = urlAt(check, [...path, 'url']) ?? shared;
  const description = readTemplate(check, [...path, 'description'], 'text');
  const http = readHttp(path);
  const pagerduty = check.read(pagerdutyShape, path);
  refuseCap(check, path, 'PagerDuty folds what belongs together itself');
  if (!pagerduty || !routingKey) return undefined;
  return {
    kind: 'pagerduty',
    url: secret(url),
    routingKey,
    severity: pagerduty.severity ?? null,
    ...(description && { description }),
    timeoutMs: pagerduty.timeout,
    ...(http && { http }),
    sendResolved: pagerduty.send_resolved,
  };
}
