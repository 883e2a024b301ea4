/**
 * VictorOps, now Splunk On-Call: an incident for each group, by its REST endpoint
 * (https://help.splunk.com/en/splunk-on-call, REST endpoint integration).
 */

import * as z from 'zod';
import { httpReader } from '../../document/http-config.ts';
import { readTemplate, refuseTemplates, template } from '../../document/read-template.ts';
import { twins, words } from '../../document/value-shape.ts';
import { incidentAction, incidentKey } from '../../domain/grouping/incident.ts';
import { type Secret, secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { NO_DIGEST } from '../channel.ts';
import { chatMessage } from '../message/chat-message.ts';
import type { Readable } from '../message/digest-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, type PostRequest, postChannel } from '../post-channel.ts';
import { below, postKeys, refuseCap, sharedSecret, urlAt } from '../post-config.ts';

const DEFAULT_URL = 'https://alert.victorops.com/integrations/generic/20131114/alert/';
const LIMITS = { title: 250, text: 15_000 };

/** The fields that nestwatch sets; custom fields must not replace them. */
const OWN_FIELDS: readonly string[] = [
  ...['message_type', 'entity_id', 'entity_display_name', 'state_message', 'monitoring_tool'],
  ...['routing_key', 'entity_state'],
];

const victoropsShape = z
  .strictObject({
    ...twins('api_key', 'Key of the REST endpoint. Overrides `victorops_api_key`.'),
    api_url: words.optional().describe('Overrides `victorops_api_url`.'),
    routing_key: words.describe('Routing key: the team to notify.'),
    message_type: z
      .enum(['CRITICAL', 'WARNING', 'INFO'])
      .prefault('CRITICAL')
      .describe('Message type of a firing alert; only CRITICAL pages somebody.'),
    entity_display_name: template("of the incident's headline"),
    state_message: template("of the incident's text"),
    monitoring_tool: words.prefault('nestwatch').describe('Source shown on the incident.'),
    custom_fields: z
      .record(
        words.refine((name) => !OWN_FIELDS.includes(name), { error: 'is a field of the message itself' }),
        z.string(),
      )
      .prefault({})
      .describe('Further fields, by name.'),
    ...postKeys(true),
  })
  .describe(
    'One VictorOps (Splunk On-Call) incident per group. It is acknowledged when every firing alert of the group is acknowledged in nestwatch, and resolved when all are resolved.',
  );

interface VictoropsIntegration extends PostIntegration {
  readonly kind: 'victorops';
  readonly apiKey: Secret;
  readonly routingKey: string;
  readonly messageType: string;
  readonly name?: Template;
  readonly state?: Template;
  readonly monitoringTool: string;
  readonly customFields: Readonly<Record<string, string>>;
}

export const victoropsChannel = postChannel<VictoropsIntegration>({
  kind: 'victorops',
  audience: 'incidents',
  pace: { inFlight: 4, claimed: 16 },
  shape: victoropsShape,
  globalShape: {
    victorops_api_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: "Address of VictorOps' REST endpoint." }),
    ...twins('victorops_api_key', 'Default API key for `victorops_configs`.'),
  },
  reader(check) {
    const shared = urlAt(check, ['global', 'victorops_api_url']) ?? DEFAULT_URL;
    const readKey = sharedSecret(check, 'api_key', 'victorops_api_key');
    const readHttp = httpReader(check);
    return (path) => {
      refuseTemplates(check, path, victoropsShape, ['entity_display_name', 'state_message']);
      const url = urlAt(check, [...path, 'api_url']) ?? shared;
      const apiKey = readKey(path);
      const name = readTemplate(check, [...path, 'entity_display_name'], 'text');
      const state = readTemplate(check, [...path, 'state_message'], 'text');
      const http = readHttp(path);
      const victorops = check.read(victoropsShape, path);
      refuseCap(check, path, 'VictorOps folds what belongs together itself');
      if (!victorops || !apiKey) return undefined;
      return {
        kind: 'victorops',
        url: secret(url),
        apiKey,
        routingKey: victorops.routing_key,
        messageType: victorops.message_type,
        ...(name && { name }),
        ...(state && { state }),
        monitoringTool: victorops.monitoring_tool,
        customFields: victorops.custom_fields,
        timeoutMs: victorops.timeout,
        ...(http && { http }),
        sendResolved: victorops.send_resolved,
      };
    };
  },
  request: victoropsRequest,
});

function victoropsRequest(
  integration: VictoropsIntegration,
  notification: Readable,
  externalUrl: string,
): PostRequest | string {
  if (notification.kind === 'digest') return NO_DIGEST;
  const { monitoringTool, customFields, messageType, name, state } = integration;
  const key = integration.apiKey.reveal();
  const target = `${encodeURIComponent(key)}/${encodeURIComponent(integration.routingKey)}`;
  const types = { trigger: messageType, acknowledge: 'ACKNOWLEDGEMENT', resolve: 'RECOVERY' };
  const url = below(integration.url.reveal(), target);
  const incident = {
    ...customFields,
    message_type: types[incidentAction(notification)],
    entity_id: incidentKey(notification),
    monitoring_tool: monitoringTool,
  };
  // About the incident alone: what it is called stays.
  if (notification.alerts.length === 0) return { url, body: incident };
  const { texts, notes, error } = renderTexts({ title: name, text: state }, notification, externalUrl);
  const said = chatMessage(notification, externalUrl, texts, notes, LIMITS);
  const links = said.links.map(({ text, url }) => `${text}: ${url}`);
  const state_message = [said.text, ...links].filter((line) => line !== '').join('\n');
  const body = { ...incident, entity_display_name: said.title, state_message };
  return { url, body, templateError: error };
}
