// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe } from 'vitest';
import { problemsBelowRegion, problemsIn, REGION, testProblems } from './load.ts';

describe('routes', () => {
  const below = (settings: string) =>
    `${REGION}receivers: [{ name: ops }]\nroute:\n  receiver: ops\n  routes:\n    - { ${settings} }`;
  testProblems(problemsBelowRegion, [
    ['receivers: [{ name: ops }]', '1:1: route: is missing: without it nothing reaches the receivers'],
    [
      'receivers: [{ name: ops }]\nroute: { group_by: [nest] }',
      '3:1: route.receiver: is missing: the root names the receiver of what no child takes',
    ],
    [
      'route: { receiver: opps }\nreceivers: [{ name: ops }, { name: pager }]',
      '2:20: route.receiver: no receiver has the name "opps"; did you mean ops?',
    ],
    ['route: { receiver: ops }', '2:20: route.receiver: no receiver has the name "ops"; there is none'],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, slak: [] }]',
      '3:26: receivers[0].slak: unknown key; known here: name, fallback, max_notifications_per_hour, fold_storms, fold_ends, email_configs, webhook_configs, slack_configs, msteamsv2_configs, pagerduty_configs, alertmanager_configs, discord_configs, mattermost_configs, rocketchat_configs, telegram_configs, webex_configs, pushover_configs, victorops_configs, browser_configs, labels',
    ],
    // Matchers at the root.
    [
      `receivers: [{ name: ops }]\nroute: { receiver: ops, matchers: ['a="b"'], continue: true }`,
      '3:25: route.matchers: the root takes every alert: move this to a route below `routes`',
      '3:46: route.continue: the root takes every alert: move this to a route below `routes`',
    ],
    [
      'route: { receiver: a, match: { a: b } }\nreceivers: [{ name: a }]',
      '2:23: route.match: the root takes every alert: move this to a route below `routes`',
    ],
    [
      'route: { receiver: ops, continue: "${NO}" }\nreceivers: [{ name: ops }]',
      { environment: { NO: 'false' } },
    ],
  ]);
  testProblems(problemsIn(below), [
    ['receiver: zzzzzz', '6:19: route.routes[0].receiver: no receiver has the name "zzzzzz"; there is ops'],
    // Alertmanager's older matchers that are wrong.
    [
      "match: [a], match_re: { a: '(', b: '${B}' }",
      '6:16: route.routes[0].match: must be a map of keys and values',
      '6:36: route.routes[0].match_re.a: error parsing regexp: missing closing ): `(` (in a=~"(")',
      '6:44: route.routes[0].match_re.b: is not a regular expression',
      { environment: { B: '(s3cret' } },
    ],
    ['repeat_interval: 0s', '6:26: route.routes[0].repeat_interval: must be at least 10ms'],
    ["group_by: ['...', nest]", '6:19: route.routes[0].group_by: `...` means all labels and stands alone'],
    ['group_by: [nest, nest]', '6:26: route.routes[0].group_by[1]: stands here twice'],
    ['group_by: [a-b]', '6:20: route.routes[0].group_by[0]: must be a label name, or `...` for all'],
    ['repeat_backoff: 0.5', '6:25: route.routes[0].repeat_backoff: must be at least 1'],
    [
      'escalate_after: 15m',
      '6:7: route.routes[0].escalate_to: is missing: name the receiver that is notified then',
    ],
    [
      'escalate_to: ops',
      '6:7: route.routes[0].escalate_after: is missing: say how long to wait, such as 15m',
    ],
    [
      'escalate_after: 15m, escalate_to: opps',
      '6:43: route.routes[0].escalate_to: no receiver has the name "opps"; did you mean ops?',
    ],
    [
      'escalate_after: soon, escalate_to: ops',
      '6:25: route.routes[0].escalate_after: must be a duration such as 30s, 5m or 1h30m, or never',
    ],
    // Mistakes at two levels at once.
    [
      'slack: 1, routes: [{ receiver: x }]',
      '6:9: route.routes[0].slack: unknown key; known here: receiver, matchers, continue, group_by, group_wait, group_interval, repeat_interval, repeat_backoff, escalate_to, escalate_after, routes, labels, match, match_re, mute_time_intervals, active_time_intervals',
      '6:40: route.routes[0].routes[0].receiver: no receiver has the name "x"; there is ops',
    ],
  ]);
});
