/** Which requests count as the press of a button in Slack, and what the message shows then. */
import { describe, expect, test } from 'vitest';
import { identitiesOf } from '../../../src/channels/integration-identity.ts';
import type { Press } from '../../../src/channels/press.ts';
import { channelOf } from '../../../src/channels/registry.ts';
import { slackBody } from '../../../src/channels/slack/slack-body.ts';
import { buttonValues } from '../../../src/channels/slack/slack-buttons.ts';
import type { SlackIntegration } from '../../../src/channels/slack/slack-channel.ts';
import { createSlackPresses } from '../../../src/channels/slack/slack-press.ts';
import type { GroupNotification } from '../../../src/domain/grouping/notification.ts';
import { load, problemsOf, REGION } from '../../config/load.ts';
import { alert, group, NOW_US } from '../sample-notifications.ts';
import {
  ANN,
  buttonsOf,
  type Message,
  type PressChanges,
  pressBody,
  SIGNING_SECRET,
  signatureOf,
  TEAM,
} from './simulated-slack.ts';

const URL = 'https://watch.example.com';
const RESPONSE_URL = 'https://hooks.slack.com/actions/T01/1/cAnArY';
const entry = (channel: string, more = '') =>
  `slack_configs: [{ app_token: xoxb-1, channel: ${channel}, signing_secret: ${SIGNING_SECRET}, team_id: ${TEAM}${more} }]`;
const configured = (more = ', scopes: [write, fly]') =>
  load(`${REGION}web: { external_url: "${URL}" }
route: { receiver: ops }
receivers:
  - { name: ops, ${entry('C01', more)} }
  - { name: dev, ${entry('C02')} }
  - { name: other, ${entry('C01').replace(SIGNING_SECRET, 'another-secret')} }
`);

/** What a press shows, by the address that it was sent to. */
type Shown = { url: string; message: Record<string, unknown> };

function presses(config = configured()) {
  const shown: Shown[] = [];
  const { read } = createSlackPresses(config.receivers, async (_, url, message) => {
    shown.push({ url, message: message as Shown['message'] });
    return { kind: 'accepted' };
  });
  return { read, shown, receivers: config.receivers };
}

const failed = (changes: Partial<GroupNotification> = {}) =>
  group({
    alerts: [alert({ acknowledgeUrl: `${URL}/acknowledge?link=x`, flyAgain: 'f1' })],
    firingTotal: 1,
    ...changes,
  });

/** The message that the receiver of this name gets. */
function messageTo(name: string, config = configured(), notification = failed({ receiver: name })): Message {
  const slack = config.receivers.find((one) => one.name === name)!.integrations[0] as SlackIntegration;
  const values = slack.buttons && buttonValues(slack.buttons, slack.channel, notification);
  const { text, blocks } = slackBody(notification, URL, slack, {}, [], undefined, values);
  return { channel: slack.channel, ts: '1.2', text, blocks };
}

interface Sent extends PressChanges {
  readonly message?: Message;
  readonly body?: string;
  /** How long ago Slack sent it, in seconds. */
  readonly ago?: number;
  readonly timestamp?: string;
  readonly signature?: string;
  readonly key?: string;
}

function sent({ message = messageTo('ops'), ago = 0, key, ...changes }: Sent = {}) {
  const timestamp = changes.timestamp ?? String(NOW_US / 1e6 - ago);
  const body = changes.body ?? pressBody(message, 'Acknowledge', RESPONSE_URL, changes);
  return { timestamp, body, signature: changes.signature ?? signatureOf(timestamp, body, key) };
}

test('a press says who asks for what, about which episode', () => {
  const { read } = presses();
  const message = messageTo('ops');
  const asked = (button: string) => {
    const body = pressBody(message, button, RESPONSE_URL);
    return read(sent({ body }), NOW_US);
  };
  const { id, startsAtUs } = alert();
  const common = { alertId: id, startsAtUs, flightId: 'f1', by: 'ann (Slack U01)' };
  expect(asked('Acknowledge')).toMatchObject({ action: 'acknowledge', ...common });
  expect(asked('Silence for 2 h')).toMatchObject({ action: 'silence', ...common });
  expect(asked('Fly again')).toMatchObject({ action: 'fly_again', ...common });
  expect(asked('See it in nestwatch')).toEqual({ status: 200, message: '' });
});

const UNSIGNED = 'This is not signed with the `signing_secret` of any receiver.';
const LATE = 'This was not sent within the last five minutes.';
const ELSEWHERE = 'This button belongs to another channel, receiver or workspace.';
const ADDRESS = 'The `response_url` is not one of Slack.';
const STRANGE = 'This is not the press of a button in a message.';

const OWN = buttonsOf(messageTo('ops')).get('Acknowledge')!.value!;
const OF_DEV = buttonsOf(messageTo('dev')).get('Acknowledge')!.value!;
const OF_OTHER = buttonsOf(messageTo('other')).get('Acknowledge')!.value!;
const [OWN_BODY = '', OWN_SIGNATURE = ''] = OWN.split('.');
const ANOTHER = Buffer.from(JSON.stringify(['acknowledge', 'another', 1, '', 'ops', 'C01'])).toString(
  'base64url',
);
const encoded = (payload: unknown) => new URLSearchParams({ payload: JSON.stringify(payload) }).toString();

const REFUSED: readonly (readonly [string, Sent, number, string])[] = [
  ['another secret', { key: 'guessed' }, 401, UNSIGNED],
  ['no signature', { signature: '' }, 401, UNSIGNED],
  ['the signature of another body', { signature: sent({ ago: 1 }).signature }, 401, UNSIGNED],
  ['another version of signatures', { signature: sent().signature.replace('v0', 'v1') }, 401, UNSIGNED],
  ['more than five minutes ago', { ago: 301 }, 401, LATE],
  ['more than five minutes ahead', { ago: -301 }, 401, LATE],
  ['no time', { timestamp: '' }, 401, LATE],
  ['a time that is no number', { timestamp: '1e9' }, 401, LATE],
  ['another channel', { channel: 'C02' }, 403, ELSEWHERE],
  ['another workspace', { team: 'T02' }, 403, ELSEWHERE],
  ['a guest of another workspace', { user: { ...ANN, team_id: 'T02' } }, 403, ELSEWHERE],
  ["another receiver's button", { value: OF_DEV }, 403, ELSEWHERE],
  ["another receiver's button, from its channel's message", { value: OWN, channel: 'C02' }, 403, ELSEWHERE],
  ["another app's button in the same channel", { value: OF_OTHER }, 403, ELSEWHERE],
  ['a button about another alert', { value: `${ANOTHER}.${OWN_SIGNATURE}` }, 403, ELSEWHERE],
  ['a button without signature', { value: OWN_BODY }, 403, ELSEWHERE],
  ['an empty button', { value: '' }, 403, ELSEWHERE],
  ['an answer to another host', { responseUrl: 'https://hooks.slack.com.evil.example/a' }, 403, ADDRESS],
  ['an answer without encryption', { responseUrl: 'http://hooks.slack.com/a' }, 403, ADDRESS],
  ['an answer to another port', { responseUrl: 'https://hooks.slack.com:8443/a' }, 403, ADDRESS],
  ['an answer to a login at another host', { responseUrl: 'https://hooks.slack.com@evil/a' }, 403, ADDRESS],
  ['no address for the answer', { responseUrl: '' }, 403, ADDRESS],
  ['another payload', { body: encoded({ type: 'view_submission' }) }, 400, STRANGE],
  ['a person without a proper id', { user: { id: 'U1) bob (', username: 'b' } }, 400, STRANGE],
  ['no payload', { body: 'payload=' }, 400, STRANGE],
  ['JSON', { body: '{"type":"block_actions"}' }, 400, STRANGE],
];

describe('is refused:', () => {
  test.each(REFUSED)('%s', (_, request, status, message) => {
    expect(presses().read(sent(request), NOW_US)).toMatchObject({ status, message });
  });

  test('what was sent before; sent anew it is another press', () => {
    const { read } = presses();
    expect(read(sent(), NOW_US)).toMatchObject({ action: 'acknowledge' });
    expect(read(sent(), NOW_US + 1e6)).toEqual({ status: 401, message: 'This was sent before.' });
    // Of a clock that is ahead the window ends later.
    expect(read(sent({ ago: -299 }), NOW_US)).toMatchObject({ action: 'acknowledge' });
    expect(read(sent({ ago: -299 }), NOW_US + 598e6)).toMatchObject({ message: 'This was sent before.' });
    expect(read(sent({ ago: 299 }), NOW_US)).toMatchObject({ action: 'acknowledge' });
  });

  test('what the configuration no longer allows', () => {
    const message = messageTo('ops');
    const body = pressBody(message, 'Fly again', RESPONSE_URL);
    expect(presses(configured('')).read(sent({ body }), NOW_US)).toMatchObject({
      ...{ status: 403, message: 'The configuration no longer lets people in this channel do that.' },
      by: 'ann (Slack U01)',
    });
  });
});

describe('a message', () => {
  const actions = (message: Message) =>
    [...buttonsOf(message)].map(([text, { url, value }]) => [text, url ? 'link' : value ? 'value' : 'none']);

  test('has buttons for what people in the channel may do, and links for the rest', () => {
    expect(actions(messageTo('ops'))).toEqual([
      ...[
        ['See it in nestwatch', 'link'],
        ['Acknowledge', 'value'],
        ['Fly again', 'value'],
      ],
      ['Silence for 2 h', 'value'],
    ]);
    expect(actions(messageTo('dev'))).toContainEqual(['Fly again', 'link']);
    const plain = load(`${REGION}route: { receiver: ops }
receivers: [{ name: ops, slack_configs: [{ app_token: xoxb-1, channel: C01 }] }]`);
    expect(actions(messageTo('ops', plain)).map(([, sort]) => sort)).toEqual(Array(4).fill('link'));
  });

  test('about several alerts only has links', () => {
    const notification = failed({ alerts: [alert(), alert({ id: 'b' })], firingTotal: 2 });
    expect(actions(messageTo('ops', configured(), notification)).map(([, sort]) => sort)).not.toContain(
      'value',
    );
  });

  test('asks before it starts a Bird', () => {
    expect(buttonsOf(messageTo('ops')).get('Fly again')!.confirm!.text.text).toBe(
      'This starts a new Flight from its beginning. Steps that the failed Flight had done are done again.',
    );
  });

  test('holds nothing secret, and no value that Slack would refuse', async () => {
    const { receivers } = configured();
    const [slack] = receivers[0]!.integrations;
    expect((await channelOf(slack!).preview(slack!, failed(), URL)).text).not.toMatch(/cAnArY|xoxb/);
    const long = failed({ alerts: [alert({ id: 'x'.repeat(1_500), flyAgain: 'f1' })] });
    expect(actions(messageTo('ops', configured(), long)).map(([, sort]) => sort)).not.toContain('value');
    expect(readable(OWN)).toEqual(['acknowledge', alert().id, alert().startsAtUs, 'f1', 'ops', 'C01']);
  });

  const readable = (value: string) => JSON.parse(Buffer.from(value.split('.')[0]!, 'base64url').toString());
});

describe('what came of a press', () => {
  const press = (message = messageTo('ops'), more = '') => {
    const { read, shown } = presses(configured(`, scopes: [write, fly]${more}`));
    return { press: read(sent({ message }), NOW_US) as Press, shown };
  };

  test('stands in the message instead of the button', async () => {
    const message = messageTo('ops');
    const { press: pressed, shown } = press(message);
    await pressed.show('Acknowledged by <!channel> & co.', true);
    expect(shown.map(({ url }) => url)).toEqual([RESPONSE_URL]);
    const { replace_original, text, blocks } = shown[0]!.message as { blocks: Message['blocks'] } & Record<
      string,
      unknown
    >;
    expect([replace_original, text]).toEqual([true, message.text]);
    expect(blocks.slice(0, -2)).toEqual(message.blocks.slice(0, -1));
    expect(blocks.at(-2)).toEqual({
      type: 'context',
      elements: [{ type: 'mrkdwn', text: 'Acknowledged by &lt;!channel&gt; &amp; co.', verbatim: true }],
    });
    expect([...buttonsOf({ blocks }).keys()]).toEqual([
      'See it in nestwatch',
      'Fly again',
      'Silence for 2 h',
    ]);
  });

  test('is in the time zone of the receiver', async () => {
    const { press: pressed, shown } = press(messageTo('ops'), ', timezone: Europe/Amsterdam');
    await pressed.show('Acknowledged at 2 Jul 2026, 12:00 UTC.', true);
    expect(JSON.stringify(shown[0]!.message)).toContain('2 Jul 2026, 14:00 CEST');
  });

  test('fits a message that has no room, and leaves no empty row of buttons', async () => {
    const { blocks } = messageTo('ops');
    const alone = { type: 'actions', elements: [buttonsOf({ blocks }).get('Acknowledge')!] } as const;
    for (const row of [blocks.at(-1)!, alone]) {
      const full = { ...messageTo('ops'), blocks: [...Array(49).fill(blocks[0]!), row] };
      const { press: pressed, shown } = press(full);
      await pressed.show('Done.', true);
      const { blocks: left } = shown[0]!.message as unknown as Message;
      expect(left).toHaveLength(50);
      expect(left.some((block) => block.type === 'actions' && block.elements.length === 0)).toBe(false);
      expect(JSON.stringify(left)).toContain('"Done."');
    }
  });

  test('that it cannot be done, is told only to who pressed', async () => {
    const { press: pressed, shown } = press();
    await pressed.show('No <!here>.', false);
    expect(shown[0]!.message).toEqual({
      ...{ response_type: 'ephemeral', replace_original: false, text: 'No &lt;!here&gt;.', mrkdwn: false },
    });
  });

  test('may go to where the methods are, if these are not at slack.com', () => {
    const at = (url: string) =>
      presses(configured(`, app_url: "${url}", scopes: [write, fly]`)).read.bind(null);
    const status = (url: string, responseUrl: string) => {
      const read = at(url)(sent({ responseUrl }), NOW_US);
      return 'status' in read ? read.status : 200;
    };
    const GOV = 'https://slack-gov.com/api/chat.postMessage';
    expect(status(GOV, 'https://hooks.slack-gov.com/actions/1')).toBe(200);
    expect(status('http://127.0.0.1:9/api/chat.postMessage', 'http://127.0.0.1:9/actions/1')).toBe(200);
    expect(status('http://127.0.0.1:9/api/chat.postMessage', 'http://127.0.0.1:10/actions/1')).toBe(403);
  });
});

describe('the configuration', () => {
  const problems = (slack: string, web = 'web: { external_url: "https://watch.example.com" }\n') =>
    problemsOf(`${REGION}${web}route: { receiver: ops }
receivers:
  - name: ops
    slack_configs:
      - ${slack}
`).map((line) => line.replace(/^\S+ receivers\[0\]\.slack_configs\[0\]\.?/, ''));

  test.each([
    [
      '{ api_url: https://hooks.slack.com/x, signing_secret: s, team_id: T01, channel: C01 }',
      ['signing_secret: requires `app_token`: only the messages of an app have buttons that act'],
    ],
    [
      '{ app_token: x, channel: "#ops", signing_secret_file: s }',
      [
        'team_id: must be the id of the workspace (`T…`)',
        "channel: must be the channel's id (`C…`) with `signing_secret`",
        'signing_secret_file: /etc/nestwatch/s does not exist',
      ],
    ],
    [
      '{ app_token: x, channel: C01, team_id: T01, scopes: [write] }',
      ['team_id: requires `signing_secret`', 'scopes: requires `signing_secret`'],
    ],
    [
      '{ app_token: x, channel: C01, signing_secret: s, team_id: T01, scopes: [] }',
      [expect.stringContaining('scopes')],
    ],
    [
      '{ app_token: x, channel: C01, signing_secret: s, team_id: T01, scopes: [read] }',
      [expect.stringContaining('scopes[0]')],
    ],
  ])('%s', (slack, expected) => {
    expect(problems(slack)).toEqual(expected);
  });

  test('says that Slack must reach the page', () => {
    expect(problems('{ app_token: x, channel: C01, signing_secret: s, team_id: T01 }', '')).toEqual([
      'signing_secret: requires `web.external_url`: Slack sends what people press there',
    ]);
  });

  test('of buttons leaves an integration the same for what waits for it', () => {
    const [before, after] = [configured(''), configured()].map(({ receivers }) => receivers[0]!.integrations);
    expect(identitiesOf(after!)).toEqual(identitiesOf(before!));
    const plain = load(`${REGION}route: { receiver: ops }
receivers: [{ name: ops, slack_configs: [{ app_token: xoxb-1, channel: C01 }] }]`);
    expect(identitiesOf(plain.receivers[0]!.integrations)).toEqual(identitiesOf(after!));
  });
});
