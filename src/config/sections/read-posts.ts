/** Integrations that post JSON to a known service: Slack, Teams, PagerDuty, another Alertmanager. */

import { mistakeInBaseUrl, mistakeInUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import { type Secret, secret, secretFrom } from '../../secret.ts';
import type {
  AlertmanagerIntegration,
  PagerdutyIntegration,
  SlackIntegration,
  TeamsIntegration,
} from '../config.ts';
import { type Check, isGiven } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { readTemplate } from '../values/read-template.ts';
import { refuseTemplates } from '../values/refuse-templates.ts';
import { alertmanagerShape, pagerdutyShape, slackShape, teamsShape } from './receiver-shape.ts';

const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

/** What they share, from `global`. */
export interface PostDefaults {
  readonly slackUrl: Secret | null;
  readonly pagerdutyUrl: string;
}

export function readPostDefaults(check: Check): PostDefaults {
  const slackUrl = check.secret(['global'], 'slack_api_url', { mistake: mistakeInUrl });
  return { slackUrl, pagerdutyUrl: urlAt(check, ['global', 'pagerduty_url']) ?? PAGERDUTY_URL };
}

/** The address at a path, with a problem where it is none. */
function urlAt(check: Check, path: Path): string | undefined {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return undefined;
  const mistake = mistakeInUrl(text);
  if (mistake) check.problem(path, mistake);
  return text;
}

export function readSlack(
  check: Check,
  path: Path,
  { slackUrl }: PostDefaults,
): SlackIntegration | undefined {
  refuseTemplates(check, path, slackShape, ['title', 'text']);
  const own = check.secret(path, 'api_url', { mistake: mistakeInUrl });
  if (!isGiven(check, path, 'api_url') && !isGiven(check, ['global'], 'slack_api_url')) {
    check.problem(
      [...path, 'api_url'],
      'is missing: set it or `global.slack_api_url` to an incoming webhook',
    );
  }
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'slack');
  const slack = check.read(slackShape, path);
  const url = own ?? slackUrl;
  if (!slack || !url) return undefined;
  return {
    kind: 'slack',
    url,
    channel: slack.channel ?? '',
    username: slack.username ?? '',
    iconEmoji: slack.icon_emoji ?? '',
    iconUrl: slack.icon_url ?? '',
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: slack.timeout,
    sendResolved: slack.send_resolved,
  };
}

export function readTeams(check: Check, path: Path): TeamsIntegration | undefined {
  refuseTemplates(check, path, teamsShape, ['title', 'text']);
  const url = check.secret(path, 'webhook_url', { isRequired: true, mistake: mistakeInUrl });
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'text');
  const teams = check.read(teamsShape, path);
  if (!teams || !url) return undefined;
  return {
    kind: 'msteamsv2',
    url,
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: teams.timeout,
    sendResolved: teams.send_resolved,
  };
}

export function readPagerduty(
  check: Check,
  path: Path,
  { pagerdutyUrl }: PostDefaults,
): PagerdutyIntegration | undefined {
  refuseTemplates(check, path, pagerdutyShape, ['description']);
  // Who gives the key of the older API is told of that alone.
  const hasOldKey = isGiven(check, path, 'service_key');
  const routingKey = check.secret(path, 'routing_key', { isRequired: !hasOldKey });
  const url = urlAt(check, [...path, 'url']) ?? pagerdutyUrl;
  const description = readTemplate(check, [...path, 'description'], 'text');
  const pagerduty = check.read(pagerdutyShape, path);
  checkCap(check, path, 'PagerDuty folds what belongs together itself');
  if (!pagerduty || !routingKey) return undefined;
  return {
    kind: 'pagerduty',
    url: secret(url),
    routingKey,
    severity: pagerduty.severity ?? null,
    ...(description && { description }),
    timeoutMs: pagerduty.timeout,
    sendResolved: pagerduty.send_resolved,
  };
}

export function readAlertmanager(check: Check, path: Path): AlertmanagerIntegration | undefined {
  refuseTemplates(check, path, alertmanagerShape);
  const url = check.secret(path, 'url', { isRequired: true, mistake: mistakeInBaseUrl });
  const alertmanager = check.read(alertmanagerShape, path);
  checkCap(check, path, 'an Alertmanager has limits of its own');
  if (!alertmanager || !url) return undefined;
  return {
    kind: 'alertmanager',
    url: secretFrom(() => withoutTrailingSlash(url.reveal())),
    timeoutMs: alertmanager.timeout,
    sendResolved: alertmanager.send_resolved,
  };
}

/** What a cap holds back is told as one message, in the state of that moment: no incident would ever end by it. */
function checkCap(check: Check, path: Path, why: string): void {
  for (const key of ['max_notifications_per_hour', 'fold_storms']) {
    const at = [...path.slice(0, -2), key];
    if (check.raw(at) === undefined) continue;
    check.problem(at, `is not for a receiver with ${String(path.at(-2))}: leave it out, ${why}`);
  }
}
