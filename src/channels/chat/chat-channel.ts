/**
 * Makes channels to chats that take a headline and one text. Each channel says where its messages go and how the body
 * is laid out; the words, and the reading of its entries, are the same for all.
 */
import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, refuseTemplates, template } from '../../document/read-template.ts';
import { keysWithoutEffect } from '../../document/value-shape.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import type { Secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import type { Channel, Outcome } from '../channel.ts';
import { type ChatLimits, type ChatMessage, chatMessage } from '../message/chat-message.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, type PostRequest, postChannel, type RetryAfter } from '../post-channel.ts';
import { postKeys, type ReaderZone, timezoneKey } from '../post-config.ts';

interface ChatIntegration extends PostIntegration, ReaderZone {
  /** The service's credentials, in its own order. */
  readonly keys: readonly Secret[];
  /** What else its entry says, by key. */
  readonly entry: object;
  readonly title?: Template;
  readonly text?: Template;
}

/** Where messages go, with the credentials for it. */
type Endpoint = Pick<ChatIntegration, 'url' | 'keys'>;

interface ChatService<Keys extends z.ZodRawShape> {
  readonly kind: string;
  readonly about: string;
  readonly limits: ChatLimits;
  /** The key that holds a template of the headline, where the service shows one. */
  readonly titleKey?: 'title';
  /** The key that holds a template of the text, as Alertmanager names it. */
  readonly textKey: 'text' | 'message';
  /** The default of `send_resolved`, as in Alertmanager. */
  readonly sendResolved: boolean;
  /** Keys with secrets in them, which `endpoint` reads. */
  readonly secretKeys: z.ZodRawShape;
  readonly keys: Keys;
  /** Keys of Alertmanager that only concern looks. */
  readonly looks?: readonly string[];
  readonly globalShape?: z.ZodRawShape;
  /**
   * Reads the keys of `global`; the result reads at the path of an entry where its messages go. Reports mistakes to
   * `check`; what has one reads as undefined.
   */
  endpoint(check: Check): (path: Path, http: HttpSettings | undefined) => Endpoint | undefined;
  /** What is posted. Without an address of its own it goes to the integration's. */
  request(
    endpoint: Endpoint,
    message: ChatMessage,
    entry: z.output<z.ZodObject<Keys>>,
  ): Omit<PostRequest, 'url' | 'templateError'> & { readonly url?: string };
  judge?(body: string): Outcome;
  readonly retryAfter?: RetryAfter;
}

export function chatChannel<Keys extends z.ZodRawShape>(
  service: ChatService<Keys>,
): Channel<ChatIntegration> {
  const { kind, titleKey, textKey } = service;
  const entryShape = z.object(service.keys);
  const shape: z.ZodObject = z
    .strictObject({
      ...service.secretKeys,
      ...(titleKey && { [titleKey]: template('of the headline') }),
      [textKey]: template('of the text, which is shown as it is'),
      ...service.keys,
      ...timezoneKey,
      ...postKeys(service.sendResolved),
      ...keysWithoutEffect(service.looks ?? [], 'leave it out, the message is built in'),
    })
    .describe(service.about);

  function readEntry(
    check: Check,
    path: Path,
    http: HttpSettings | undefined,
    endpoint: Endpoint | undefined,
  ) {
    refuseTemplates(check, path, shape, [...(titleKey ? [titleKey] : []), textKey]);
    const title = titleKey && readTemplate(check, [...path, titleKey], 'text');
    const text = readTemplate(check, [...path, textKey], 'text');
    const entry = check.read(shape, path) as (object & SharedKeys) | undefined;
    if (!entry || !endpoint) return undefined;
    const { timeout: timeoutMs, send_resolved: sendResolved, timezone } = entry;
    return {
      kind,
      ...endpoint,
      entry: chosen(entry, Object.keys(service.keys)),
      ...(title && { title }),
      ...(text && { text }),
      timeoutMs,
      ...(http && { http }),
      sendResolved,
      ...(timezone !== undefined && { timezone }),
    };
  }

  return postChannel<ChatIntegration>({
    kind,
    audience: 'people',
    pace: { inFlight: 2, claimed: 8 },
    shape,
    ...(service.globalShape && { globalShape: service.globalShape }),
    ...(service.judge && { judge: service.judge }),
    ...(service.retryAfter && { retryAfter: service.retryAfter }),
    reader(check) {
      const endpointAt = service.endpoint(check);
      const readHttp = httpReader(check);
      return (path) => {
        const http = readHttp(path);
        return readEntry(check, path, http, endpointAt(path, http));
      };
    },
    request(integration, notification, externalUrl) {
      const { title, text, timezone } = integration;
      const { texts, notes, error } = renderTexts({ title, text }, notification, externalUrl);
      const message = chatMessage(notification, externalUrl, texts, notes, service.limits, timezone);
      const wanted = service.request(integration, message, integration.entry as z.output<typeof entryShape>);
      return { url: integration.url.reveal(), ...wanted, templateError: error };
    },
  });
}

interface SharedKeys {
  readonly timeout: number;
  readonly send_resolved: boolean;
  readonly timezone?: string;
}

function chosen(entry: object, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => keys.includes(key)));
}
