/**
 * The receivers of `config/templates/`: each loads unchanged, and turns any notification into a body within the
 * limits that its service publishes:
 *
 * - Discord: execute webhook, embed limits (discord.com/developers/docs/resources/message);
 * - Telegram: Bot API, sendMessage (core.telegram.org/bots/api);
 * - Mattermost: incoming webhooks and message attachments (developers.mattermost.com);
 * - ntfy: publish as JSON, limitations (docs.ntfy.sh/publish);
 * - incident.io: alert events v2 (docs.incident.io/api-reference/alert-events-v2);
 * - Jira Cloud: create issue of REST API 3, Atlassian Document Format.
 */

import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type WebhookIntegration, webhookMessages } from '../../src/channels/webhook/webhook-channel.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { anyGroupNotification, HOSTILE } from './any-notification.ts';
import { alert, group } from './sample-notifications.ts';

const RUNS = 60;

const ROOT = join(import.meta.dirname, '../../config/templates');
const FILES = globSync('*.yaml', { cwd: ROOT }).sort();
const URL = 'https://watch.example.com';

const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((one) => one.isWellFormed(), 'half a surrogate pair');
const bytes = (max: number) =>
  z.string().refine((one) => Buffer.byteLength(one) <= max, `more than ${max} bytes`);
/** The content of a code block cannot end it. */
const codeBlock = (max: number) =>
  text(1, max).refine((one) => /^```\n[^`]*\n```$/.test(one), 'leaves its block of code');
const adfText = z.strictObject({ type: z.literal('text'), text: text(1, 32_767) });

const SHAPES: Readonly<Record<string, z.ZodType>> = {
  discord: z
    .strictObject({
      username: text(1, 80),
      allowed_mentions: z.strictObject({ parse: z.tuple([]) }),
      embeds: z
        .array(
          z.strictObject({
            title: text(1, 256).refine((one) => !/\]\s*\(/.test(one), 'a link'),
            url: z.literal(URL),
            color: z.int().min(0).max(0xffffff),
            description: codeBlock(4_096),
            footer: z.strictObject({ text: text(0, 2_048) }),
          }),
        )
        .min(1)
        .max(10),
    })
    .refine(
      ({ embeds }) =>
        embeds.reduce(
          (sum, { title, description, footer }) =>
            sum + title.length + description.length + footer.text.length,
          0,
        ) <= 6_000,
      'more than 6000 characters together',
    ),
  telegram: z.strictObject({
    chat_id: z.string(),
    text: text(1, 4_096),
    link_preview_options: z.strictObject({ is_disabled: z.literal(true) }),
    disable_notification: z.boolean(),
  }),
  mattermost: z.strictObject({
    username: text(1, 64),
    text: z.literal(''),
    attachments: z
      .array(
        z.strictObject({
          fallback: text(1, 16_383).refine((one) => !one.includes('@'), 'mentions somebody'),
          color: z.string().regex(/^#[0-9a-f]{6}$/),
          title: text(1, 16_383).refine((one) => !one.includes('@'), 'mentions somebody'),
          title_link: z.literal(URL),
          text: codeBlock(16_383),
          footer: text(0, 300).refine((one) => !one.includes('@'), 'mentions somebody'),
        }),
      )
      .length(1),
  }),
  ntfy: z.strictObject({
    topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
    title: text(1, 250).pipe(bytes(250)),
    message: text(1, 4_096).pipe(bytes(4_096)),
    priority: z.int().min(1).max(5),
    tags: z.array(z.string().regex(/^\w+$/)).max(5),
    click: z.literal(URL),
  }),
  'incident-io': z.strictObject({
    title: text(1, 255),
    description: text(0, 10_000),
    deduplication_key: text(1, 512),
    status: z.enum(['firing', 'resolved']),
    source_url: z.literal(URL),
    metadata: z.strictObject({ labels: z.record(z.string(), z.string()), firing: z.int() }),
  }),
  jira: z.strictObject({
    fields: z.strictObject({
      project: z.strictObject({ key: z.string() }),
      issuetype: z.strictObject({ name: z.string() }),
      labels: z.array(z.string().regex(/^\S+$/)),
      summary: text(1, 255).refine((one) => !/[\r\n]/.test(one), 'more than one line'),
      description: z
        .strictObject({
          type: z.literal('doc'),
          version: z.literal(1),
          content: z.array(
            z.strictObject({ type: z.enum(['paragraph', 'codeBlock']), content: z.array(adfText) }),
          ),
        })
        .refine((one) => JSON.stringify(one).length <= 32_767, 'more than 32767 characters'),
    }),
  }),
};

function integrationOf(file: string): WebhookIntegration {
  const config = loadConfig({
    file,
    text: `regions: { eu: { base_url: https://x, token: t } }\nroute: { receiver: ${basename(file, '.yaml')} }\n${readFileSync(join(ROOT, file), 'utf8')}`,
    environment: {},
    readFile: () => 'https://hook.example.com/secret',
  });
  return config.receivers[0]!.integrations[0] as WebhookIntegration;
}

function bodyOf(integration: WebhookIntegration, notification: GroupNotification): unknown {
  const messages = webhookMessages(integration, notification, URL);
  if (typeof messages === 'string') throw new Error(messages);
  expect(messages.map(({ templateError }) => templateError)).toEqual([undefined]);
  return JSON.parse(messages[0]!.body);
}

const shapeOf = (file: string) => SHAPES[basename(file, '.yaml') as 'jira']!;

describe.each(FILES)('config/templates/%s', (file) => {
  const integration = integrationOf(file);

  test('shows what happened, and what ended it', () => {
    const fired = JSON.stringify(shapeOf(file).parse(bodyOf(integration, group())));
    expect(fired).toContain('Translate blog');
    expect(fired).toContain('429 Too Many Requests');
    const over = group({
      status: 'resolved',
      alerts: [alert({ status: 'resolved', endsAtUs: 1 })],
      firingTotal: 0,
      resolvedTotal: 1,
    });
    expect(JSON.stringify(shapeOf(file).parse(bodyOf(integration, over)))).not.toBe(fired);
  });

  test('keeps the limits for any input [long]', () => {
    fc.assert(
      fc.property(anyGroupNotification, (notification) => {
        if (notification.alerts.length === 0) return;
        shapeOf(file).parse(bodyOf(integration, notification));
      }),
      { numRuns: RUNS },
    );
  });

  const torn = ['😀'.repeat(5_000), `x${'😀'.repeat(5_000)}`, '語'.repeat(9_000)];
  test.each([...HOSTILE, ...torn])('text stays text: %.60s', (hostile) => {
    const labels = { ...alert().labels, bird: hostile };
    const annotations = { ...alert().annotations, summary: hostile, description: hostile };
    shapeOf(file).parse(
      bodyOf(integration, group({ alerts: [alert({ labels, annotations })], notices: [hostile] })),
    );
  });
});

test('each file has its shape here and its line in the README', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  expect(FILES.map((file) => basename(file, '.yaml'))).toEqual(Object.keys(SHAPES).sort());
  expect(FILES.filter((file) => !readme.includes(`[\`${file}\`](${file})`))).toEqual([]);
});
