// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { load, problemsOf } from './load.ts';

const CANARY = 'cAnArY-7f3';

const EVERY_SECRET = `
regions:
  eu: { base_url: https://x, token: "\${SECRET}" }
  us: { base_url: https://x, token_file: /secret }
global:
  smtp_smarthost: mail.example.com:587
  smtp_from: n@example.com
  smtp_auth_username: user
  smtp_auth_password: ${CANARY}
route: { receiver: a }
receivers:
  - name: a
    email_configs: [{ to: a@b.c, auth_password_file: /secret }]
    webhook_configs:
      - { url: "https://hooks.example.com/${CANARY}", secret: ${CANARY} }
      - { url_file: /url, secret_file: /secret }
web: { auth: { bearer_token: ${CANARY} } }
`;
const SURROUNDINGS = {
  environment: { SECRET: CANARY },
  files: { '/secret': `${CANARY}\n`, '/url': `https://hooks.example.com/${CANARY}` },
};

describe('secrets', () => {
  test('none is shown when the configuration is printed', () => {
    const config = load(EVERY_SECRET, SURROUNDINGS);
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 20, showHidden: true }),
      `${config.regions[0]!.token}`,
    ];
    expect(printed.join('\n')).not.toContain(CANARY);
    expect(printed.join('\n')).toContain('[secret]');
    // The canary can be found.
    expect(config.regions.map(({ token }) => token.reveal())).toEqual([CANARY, CANARY]);
  });

  test.each([
    ['the wrong type beside it', EVERY_SECRET.replace('to: a@b.c', 'to: 5')],
    ['an unset name', `${EVERY_SECRET}\nzzz: "\${MISSING}"`],
    ['text that is not YAML', EVERY_SECRET.replace('bearer_token: ', 'bearer_token: "x" ')],
    ['an alias', EVERY_SECRET.replace('bearer_token: ', 'bearer_token: *')],
    ['a tag', EVERY_SECRET.replace('bearer_token: ', 'bearer_token: !')],
    ['a block header', EVERY_SECRET.replace('smtp_auth_password: ', 'smtp_auth_password: |')],
    [
      'a secret where an address belongs',
      EVERY_SECRET.replace('base_url: https://x', 'base_url: "${SECRET}"'),
    ],
    [
      'a secret in an address',
      EVERY_SECRET.replace('base_url: https://x', `base_url: "https://u:${CANARY}@x"`),
    ],
    ['a secret where a duration belongs', `${EVERY_SECRET}\npoll: { interval: ${CANARY} }`],
    ['a secret where a number belongs', `${EVERY_SECRET}\npoll: { page_size: "\${SECRET}" }`],
    [
      'a secret where a choice belongs',
      EVERY_SECRET.replace('{ url_file', '{ format: "${SECRET}", url_file'),
    ],
    ['a secret where a file belongs', EVERY_SECRET.replace('token_file: /secret', 'token_file: "${SECRET}"')],
    ['a secret where a receiver belongs', EVERY_SECRET.replace('receiver: a', 'receiver: "${SECRET}"')],
    ['a secret in a store', `${EVERY_SECRET}\nstore: { url: "postgres://u:${CANARY}@h/d" }`],
    ['a secret of two lines', EVERY_SECRET.replace('token: "${SECRET}"', `token: "${CANARY}\\n${CANARY}"`)],
    ['a secret in a webhook that is none', EVERY_SECRET.replace('https://hooks', 'hooks')],
  ])('none is shown in the messages about %s', (_what, text) => {
    const problems = problemsOf(text, SURROUNDINGS);
    expect(problems).not.toEqual([]);
    expect(problems.join('\n')).not.toContain(CANARY);
  });

  test('a secret file is found relative to the folder of the configuration, and its line end is removed', () => {
    const text = 'regions: { eu: { base_url: https://x, token_file: secrets/eu } }';
    for (const end of ['', '\n', '\r\n']) {
      const { regions } = load(text, { files: { '/etc/nestwatch/secrets/eu': `\uFEFF a$#[ ${end}` } });
      expect(regions[0]!.token.reveal()).toBe(' a$#[ ');
    }
  });

  test('a secret file that changes is read again; if that fails, the last good text is used, and it is noted', () => {
    let content: string | undefined = 'first\n';
    const unread = new Map<string, string>();
    const { regions } = loadConfig({
      file: '/n.yaml',
      text: 'regions: { eu: { base_url: https://x, token_file: /t } }',
      environment: {},
      readFile() {
        if (content === undefined) throw new Error('gone');
        return content;
      },
      unread,
    });
    const token = regions[0]!.token;
    expect(token.reveal()).toBe('first');
    content = 'second\n';
    expect(token.reveal()).toBe('second');
    expect([...unread]).toEqual([]);
    content = undefined;
    expect(token.reveal()).toBe('second');
    expect([...unread]).toEqual([['regions.eu.token_file', '/t cannot be read (unknown reason)']]);
    content = '\n';
    expect(token.reveal()).toBe('second');
    expect([...unread]).toEqual([['regions.eu.token_file', '/t: is empty']]);
    content = 'third';
    expect(token.reveal()).toBe('third');
    expect([...unread]).toEqual([]);
  });

  test('a secret file with an invalid new content leaves the last good text in use', () => {
    let content = 'https://hooks.example.com/a';
    const unread = new Map<string, string>();
    const { receivers } = loadConfig({
      file: '/n.yaml',
      text: `regions: { eu: { base_url: https://x, token: t } }
route: { receiver: a }
receivers: [{ name: a, webhook_configs: [{ url_file: /u }] }]`,
      environment: {},
      readFile: () => content,
      unread,
    });
    const { url } = receivers[0]!.integrations[0] as WebhookIntegration;
    expect(url.reveal()).toBe('https://hooks.example.com/a');
    for (const wrong of ['no address', 'https://u:p@hooks.example.com/']) {
      content = wrong;
      // Twice, since what was found wrong is not looked into again.
      for (let times = 0; times < 2; times += 1) {
        expect(url.reveal(), wrong).toBe('https://hooks.example.com/a');
        expect([...unread.values()], wrong).toEqual([expect.stringMatching(/^\/u: (must|may)/)]);
      }
    }
    content = 'https://hooks.example.com/b';
    expect(url.reveal()).toBe('https://hooks.example.com/b');
    expect([...unread]).toEqual([]);
  });
});
