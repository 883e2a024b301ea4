/** Reads `global` and `receivers`; each channel reads its own integrations. */
import * as z from 'zod';
import type { Channel } from '../../channels/channel.ts';
import type { Integration, Receiver } from '../../channels/receiver.ts';
import { CHANNELS, configsKey } from '../../channels/registry.ts';
import { type Check, checkName, namesIn, readList, refuseRepeated } from '../../document/check.ts';
import { httpShape } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { refuseTemplates } from '../../document/read-template.ts';
import { duration, refused, refusedKeys, withoutEffect, words } from '../../document/value-shape.ts';

/** What to use instead of a service for which nestwatch has no channel. */
const NO_INTEGRATION = 'use `webhook_configs` with `format: template`, or another channel';

const OPSGENIE_ENDS =
  'Opsgenie ends on 5 April 2027; use `pagerduty_configs`, or `webhook_configs` with `format: template` for Jira Service Management';

const OF_CHANNELS: z.ZodRawShape = Object.assign({}, ...CHANNELS.map((channel) => channel.globalShape));

/** Settings that the integrations of a channel share. */
export const globalShape = z.strictObject({
  ...OF_CHANNELS,
  resolve_timeout: withoutEffect(duration(), 'alerts resolve by their rules (`resolve_after`)'),
  http_config: httpShape.optional(),
  ...refusedKeys(['opsgenie_api_url', 'opsgenie_api_key', 'opsgenie_api_key_file'], OPSGENIE_ENDS),
  ...refusedKeys(
    ['wechat_api_url', 'wechat_api_secret', 'wechat_api_secret_file', 'wechat_api_corp_id', 'jira_api_url'],
    NO_INTEGRATION,
  ),
});

/** One list for each channel. */
function configsOf(entry: (channel: Channel) => z.ZodType): object {
  return Object.fromEntries(
    CHANNELS.map((channel) => [configsKey(channel), z.array(entry(channel)).prefault([])]),
  );
}

const receiverShape = z.strictObject({
  name: words.describe('The name by which routes, `forward` and digests refer to it.'),
  fallback: words
    .optional()
    .describe(
      'Another receiver. It is notified once of each message that this one has not accepted after 3 attempts or 5 minutes, and of the end of what it was told fires.',
    ),
  max_notifications_per_hour: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Maximum number of messages in any hour. Further ones are held back, counted, and sent as one message as soon as the limit allows. Digests, and messages received as the `fallback` of another receiver, do not count. Not allowed for receivers with PagerDuty, VictorOps or Alertmanager, which need every single change.',
    ),
  fold_storms: duration(60_000, 1_800_000)
    .optional()
    .describe(
      'Combines messages during an alert storm. Once 3 messages were sent within twice this time, all further ones are combined into one message per period of this length, until the storm is over. Not allowed for receivers with PagerDuty, VictorOps or Alertmanager.',
    ),
  fold_ends: duration(60_000, 1_800_000)
    .optional()
    .describe(
      'Combines what is not urgent. If another message was sent within this time before, one that only says that something ended or goes on waits for this time, and all that wait are sent as one. What fires newly is told at once. Not allowed for receivers with PagerDuty, VictorOps or Alertmanager.',
    ),
  ...configsOf(() => z.unknown()),
  labels: z
    .record(words, z.string())
    .optional()
    .describe(
      "Labels of the receiver. Clients of Alertmanager's API select receivers by them (`receiver_matchers`); `name` is always one of them.",
    ),
  opsgenie_configs: refused(OPSGENIE_ENDS),
  msteams_configs: refused('use `msteamsv2_configs`: Teams has ended the connectors that these go to'),
  ...refusedKeys(['incidentio_configs', 'jira_configs', 'sns_configs', 'wechat_configs'], NO_INTEGRATION),
});

/** A receiver with its integrations, for the JSON schema; the checks read each integration by itself. */
export const wholeReceiverShape = receiverShape.extend(configsOf(({ shape }) => shape));

type Readers = readonly (readonly [key: string, read: (path: Path) => Integration | undefined])[];

export function readReceivers(check: Check): Receiver[] {
  refuseTemplates(check, ['global'], globalShape);
  const readers = CHANNELS.map((channel) => [configsKey(channel), channel.reader(check)] as const);
  check.read(globalShape.prefault({}), ['global']);
  const paths = readList(check, ['receivers']);
  refuseRepeated(check, paths, 'receiver');
  return paths.flatMap((path) => readReceiver(check, path, readers) ?? []);
}

/** A fallback must be another receiver, or it is useless. */
function checkFallback(check: Check, path: Path): void {
  const name = check.raw([...path, 'fallback']);
  if (name !== undefined && name === check.raw([...path, 'name'])) {
    check.problem([...path, 'fallback'], 'must be another receiver: this is the one that it stands in for');
  }
  checkName(check, [...path, 'fallback'], namesIn(check, 'receivers'), 'receiver');
}

/** Alertmanager gives each receiver its name as a label, which its own labels must not contradict. */
function checkLabels(check: Check, path: Path): void {
  const label = check.raw([...path, 'labels', 'name']);
  if (label === undefined || label === check.raw([...path, 'name'])) return;
  check.problem([...path, 'labels', 'name'], "must be the receiver's own name: leave it out");
}

function readReceiver(check: Check, path: Path, readers: Readers): Receiver | undefined {
  checkFallback(check, path);
  checkLabels(check, path);
  const receiver = check.read(receiverShape, path);
  const integrations = readers
    .flatMap(([key, read]) =>
      readList(check, [...path, key]).map((one) => {
        const integration = read(one);
        const isWritten = check.plain([...one, 'send_resolved']) === true;
        return integration && isWritten ? { ...integration, endsMoments: true as const } : integration;
      }),
    )
    .filter((one) => one !== undefined);
  if (!receiver) return undefined;
  const { name, labels, fallback, max_notifications_per_hour: max } = receiver;
  const { fold_storms: foldStormsMs, fold_ends: foldEndsMs } = receiver;
  return {
    name,
    integrations,
    ...(labels && { labels }),
    ...(fallback !== undefined && { fallback }),
    ...(max !== undefined && { maxNotificationsPerHour: max }),
    ...(foldStormsMs !== undefined && { foldStormsMs }),
    ...(foldEndsMs !== undefined && { foldEndsMs }),
  };
}
