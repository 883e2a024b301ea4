/** Opsgenie: an alert for each group, by its Alert API (https://docs.opsgenie.com/docs/alert-api). */

import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, template } from '../../document/read-template.ts';
import { refuseTemplates } from '../../document/refuse-templates.ts';
import { keysWithoutEffect } from '../../document/refused-key.ts';
import { twins, words } from '../../document/value-shape.ts';
import { incidentKey } from '../../domain/grouping/incident.ts';
import { type Secret, secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { plainText } from '../../text/plain-text.ts';
import { NO_DIGEST } from '../channel.ts';
import { commonLabels } from '../message/alert-subject.ts';
import { chatMessage } from '../message/chat-message.ts';
import type { Readable } from '../message/digest-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, type PostRequest, postChannel } from '../post-channel.ts';
import {
  below,
  type EntryDefaults,
  postKeys,
  refuseCap,
  refuseCredentials,
  sharedSecret,
  urlAt,
} from '../post-config.ts';
import { incidentAction } from './service-incident.ts';

const DEFAULT_URL = 'https://api.opsgenie.com/';
const LIMITS = { title: 130, text: 10_000 };
/** The limit of one value of the details, which may have 8000 characters in total. */
const DETAIL_CODE_POINTS = 300;
const MAX_DETAILS = 20;

const responderShape = z
  .strictObject({
    id: words.optional().describe('Its id.'),
    name: words.optional().describe('Instead of `id`: the name of a team, escalation or schedule.'),
    username: words.optional().describe('Instead of `id`: the name of a user.'),
    type: z.enum(['team', 'teams', 'user', 'escalation', 'schedule']).describe('What it is.'),
  })
  .refine(({ id, name, username }) => id ?? name ?? username, {
    error: 'must have an `id`, a `name` or a `username`',
  });
type Responder = z.output<typeof responderShape>;

const opsgenieShape = z
  .strictObject({
    ...twins('api_key', 'Key of an API integration. Overrides `opsgenie_api_key`.'),
    api_url: words.optional().describe('Overrides `opsgenie_api_url`.'),
    message: template("of the alert's headline"),
    description: template("of the alert's text"),
    source: words.prefault('nestwatch').describe('Source shown on the alert.'),
    responders: z.array(responderShape).prefault([]).describe('Who is notified.'),
    tags: words.optional().describe('Tags of the alert, separated by commas.'),
    note: words.optional().describe('A note on the alert.'),
    priority: z
      .enum(['P1', 'P2', 'P3', 'P4', 'P5'])
      .optional()
      .describe("Replaces the integration's own priority."),
    entity: words.optional().describe('What the alert is about, for rules of Opsgenie.'),
    actions: words.optional().describe('Actions that people may start from the alert, separated by commas.'),
    details: z
      .record(words, z.string())
      .prefault({})
      .describe('Further details, in addition to the labels that all alerts of the group have in common.'),
    ...postKeys(true),
    ...keysWithoutEffect(['update_alerts'], 'leave it out, later changes are counted on the alert'),
  })
  .describe(
    'One Opsgenie alert per group. It is acknowledged when every firing alert of the group is acknowledged in nestwatch, and closed when all are resolved.',
  );

interface OpsgenieIntegration extends PostIntegration {
  readonly kind: 'opsgenie';
  readonly apiKey: Secret;
  readonly message?: Template;
  readonly description?: Template;
  readonly source: string;
  readonly responders: readonly Responder[];
  readonly tags: readonly string[];
  readonly actions: readonly string[];
  readonly note?: string;
  readonly priority?: string;
  readonly entity?: string;
  readonly details: Readonly<Record<string, string>>;
}

export const opsgenieChannel = postChannel<OpsgenieIntegration>({
  kind: 'opsgenie',
  audience: 'incidents',
  pace: { inFlight: 4, claimed: 16 },
  shape: opsgenieShape,
  globalShape: {
    opsgenie_api_url: words.optional().meta({
      preset: DEFAULT_URL,
      description: 'Address of Opsgenie; in Europe https://api.eu.opsgenie.com/.',
    }),
    ...twins('opsgenie_api_key', 'Default API key for `opsgenie_configs`.'),
  },
  reader(check) {
    const url = urlAt(check, ['global', 'opsgenie_api_url']) ?? DEFAULT_URL;
    const apiKey = sharedSecret(check, 'api_key', 'opsgenie_api_key');
    const readHttp = httpReader(check);
    return (path) => readOpsgenie(check, path, { url, apiKey, readHttp });
  },
  request: opsgenieRequest,
});

function opsgenieRequest(
  integration: OpsgenieIntegration,
  notification: Readable,
  externalUrl: string,
): PostRequest | string {
  if (notification.kind === 'digest') return NO_DIGEST;
  const { source, responders, tags, actions, note, priority, entity, details } = integration;
  const key = integration.apiKey.reveal();
  const asked = { headers: { authorization: `GenieKey ${key}` } };
  const alias = incidentKey(notification);
  const alerts = below(integration.url.reveal(), 'v2/alerts');
  const action = incidentAction(notification);
  if (action !== 'trigger') {
    const verb = action === 'resolve' ? 'close' : 'acknowledge';
    return { ...asked, url: `${alerts}/${alias}/${verb}?identifierType=alias`, body: { source } };
  }
  const { message, description } = integration;
  const { texts, notes, error } = renderTexts(
    { title: message, text: description },
    notification,
    externalUrl,
  );
  const said = chatMessage(notification, externalUrl, texts, notes, LIMITS);
  const links = said.links.map(({ text, url }) => `${text}: ${url}`);
  const labels = Object.entries(commonLabels(notification.alerts)).slice(0, MAX_DETAILS);
  return {
    ...asked,
    url: alerts,
    body: {
      alias,
      message: said.title,
      description: [said.text, ...links].filter((line) => line !== '').join('\n'),
      source,
      details: {
        ...Object.fromEntries(labels.map(([name, value]) => [name, plainText(value, DETAIL_CODE_POINTS)])),
        ...details,
      },
      ...(responders.length > 0 && { responders: responders.flatMap(oneByOne) }),
      ...(tags.length > 0 && { tags }),
      ...(actions.length > 0 && { actions }),
      ...(note && { note }),
      ...(priority && { priority }),
      ...(entity && { entity }),
    },
    templateError: error,
  };
}

/** Splits `teams`, which names several, separated by commas. */
function oneByOne(responder: Responder): Responder[] {
  if (responder.type !== 'teams') return [responder];
  return listOf(responder.name).map((name) => ({ name, type: 'team' }));
}

function listOf(text: string | undefined): string[] {
  return (text ?? '').split(',').flatMap((one) => one.trim() || []);
}

function readOpsgenie(check: Check, path: Path, defaults: EntryDefaults): OpsgenieIntegration | undefined {
  refuseTemplates(check, path, opsgenieShape, ['message', 'description']);
  const url = urlAt(check, [...path, 'api_url']) ?? defaults.url;
  const apiKey = defaults.apiKey(path);
  const message = readTemplate(check, [...path, 'message'], 'text');
  const description = readTemplate(check, [...path, 'description'], 'text');
  const http = defaults.readHttp(path);
  const opsgenie = check.read(opsgenieShape, path);
  refuseCap(check, path, 'Opsgenie folds what belongs together itself');
  refuseCredentials(check, path, 'api_key', http);
  if (!opsgenie || !apiKey) return undefined;
  const { source, responders, note, priority, entity, details } = opsgenie;
  return {
    kind: 'opsgenie',
    url: secret(url),
    apiKey,
    ...(message && { message }),
    ...(description && { description }),
    source,
    responders,
    tags: listOf(opsgenie.tags),
    actions: listOf(opsgenie.actions),
    ...(note && { note }),
    ...(priority && { priority }),
    ...(entity && { entity }),
    details,
    timeoutMs: opsgenie.timeout,
    ...(http && { http }),
    sendResolved: opsgenie.send_resolved,
  };
}
