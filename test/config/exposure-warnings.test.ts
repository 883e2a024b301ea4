import { describe, expect, test } from 'vitest';
import { REGION, testProblems, warningsOf } from './load.ts';

const RECEIVER = 'route: { receiver: a }\nreceivers:\n  - name: a\n';

/** The warnings about one integration, without their lines. */
const ofIntegration = (text: string) =>
  warningsOf(`${REGION}${RECEIVER}    ${text}\n`).map((line) => line.replace(/^\d+:/, ''));

const belowRegion = (text: string) => warningsOf(REGION + text);

describe('credentials that go to another host over plain HTTP', () => {
  const open = 'receivers[0].webhook_configs[0]: credentials go there unencrypted: use https';

  test.each([
    ['basic_auth', '{ basic_auth: { username: u, password: p } }'],
    ['authorization', '{ authorization: { credentials: x } }'],
    ['a secret header', '{ http_headers: { X-Key: { secrets: [x] } } }'],
  ])('of a webhook: %s', (_, http) => {
    const webhook = (url: string) =>
      ofIntegration(`webhook_configs: [{ url: "${url}", http_config: ${http} }]`);
    expect(webhook('http://hook.example.com/a')).toEqual([`23: ${open}`]);
    for (const url of ['https://hook.example.com/a', 'http://127.0.0.1:9000/a', 'http://[::1]/a'])
      expect(webhook(url)).toEqual([]);
  });

  // The query of an address counts as credentials.
  testProblems(ofIntegration, [
    ['webhook_configs: [{ url: "http://hook.example.com/a?key=b" }]', `23: ${open}`],
    ['webhook_configs: [{ url: "http://hook.example.com/a" }]'],
  ]);

  test('of a webhook: those of `global`', () => {
    const text = `${REGION}global: { http_config: { authorization: { credentials: x } } }
${RECEIVER}    webhook_configs: [{ url: "http://hook.example.com/a" }]\n`;
    expect(warningsOf(text)).toEqual([`6:23: ${open}`]);
  });

  test.each([
    ['mattermost_configs', '{ webhook_url: "http://chat.example.com/hooks/x" }'],
    ['rocketchat_configs', '{ api_url: "http://chat.example.com", token: t, token_id: i, channel: c }'],
  ])('of %s, whose address or key is enough to write there', (key, entry) => {
    const [warning, ...others] = ofIntegration(`${key}: [${entry}]`);
    expect(warning).toContain(`: receivers[0].${key}[0]: credentials go there unencrypted: use https`);
    expect(others).toEqual([]);
  });

  describe('to a server of tokens, a proxy, a watchdog', () => {
    const http = (settings: string) =>
      ofIntegration(`webhook_configs: [{ url: "https://x.example.com", http_config: { ${settings} } }]`);
    const AT = 'receivers[0].webhook_configs[0].http_config';
    const proxy = `81: ${AT}.proxy_url: the proxy's password goes there unencrypted: use https, if the proxy offers it`;
    testProblems(http, [
      [
        'oauth2: { client_id: c, client_secret: s, token_url: "http://login.example.com/token" }',
        `123: ${AT}.oauth2.token_url: the client's secret goes there unencrypted: use https`,
      ],
      ['proxy_url: "http://u:p@proxy.example.com:3128"', proxy],
      ['proxy_url: "socks5://u:p@proxy.example.com:3128"', proxy],
      ['proxy_url: "http://proxy.example.com:3128"'],
      ['proxy_url: "https://u:p@proxy.example.com"'],
      ['proxy_url: "http://u:p@127.0.0.1:3128"'],
    ]);
    testProblems(belowRegion, [
      [
        'heartbeat: { url: "http://hc.example.com/ping/x" }',
        '2:19: heartbeat.url: whoever reads this address on its way can keep the watchdog quiet: use https',
      ],
    ]);
  });

  describe('to the page', () => {
    const auth = 'auth: { bearer_token: 0123456789abcdef }';
    testProblems(belowRegion, [
      [
        `web: { external_url: "http://watch.example.com", ${auth} }`,
        '2:22: web.external_url: passwords and tokens go there unencrypted: serve https by `web.tls` or a proxy, and write https here',
      ],
      [`web: { external_url: "https://watch.example.com", ${auth} }`],
      [`web: { external_url: "http://127.0.0.1:9465", ${auth} }`],
      ['web: { external_url: "http://watch.example.com", auth: {} }'],
    ]);
  });

  describe('to the store', () => {
    const store = (url: string) => belowRegion(`store: { url: "${url}", password: p }`);
    testProblems(store, [
      [
        'postgres://u@db.example.com/d?sslmode=disable',
        '2:15: store.url: the password goes there unencrypted: leave out `sslmode=disable`',
      ],
      [
        'postgres://u@db.example.com/d?sslmode=require',
        '2:15: store.url: anyone on the network path can pose as the server and get the password: leave out `sslmode`, or add `sslrootcert`',
      ],
      ['postgres://u@db.example.com/d'],
      ['postgres://u@127.0.0.1/d?sslmode=disable'],
      ['postgres://u@[::1]/d?sslmode=disable'],
      ['postgres://u@/d?host=/run/postgresql&sslmode=disable'],
    ]);
    // Without a password.
    testProblems(belowRegion, [['store: { url: "postgres://u@db.example.com/d?sslmode=disable" }']]);
  });
});

describe('what is weak', () => {
  const guess = 'is easy to guess: use at least 16 random characters';
  const skip = 'tls_config: { insecure_skip_verify: true }';
  const oauth2 = `oauth2: { client_id: c, client_secret: s, token_url: "https://login.example.com/token", ${skip} }`;
  const readable =
    'anyone on the network path can read what is sent, including credentials: set the trusted certificate as `ca_file` instead';
  const many = 'everybody at so many addresses can be anybody: name the addresses of the proxy';
  testProblems(ofIntegration, [
    [
      'webhook_configs: [{ url: "https://x.example.com", http_config: { tls_config: { min_version: TLS11 } } }]',
      '97: receivers[0].webhook_configs[0].http_config.tls_config.min_version: is a version of TLS that is broken: use TLS12 or a later one',
    ],
    [
      'webhook_configs: [{ url: "https://x.example.com", secret: hush }]',
      `63: receivers[0].webhook_configs[0].secret: ${guess}`,
    ],
  ]);
  testProblems(belowRegion, [
    // A certificate that is not verified, wherever it is.
    [
      `heartbeat: { url: "https://hc.example.com", http_config: { ${skip}, ${oauth2} } }`,
      `2:96: heartbeat.http_config.tls_config.insecure_skip_verify: ${readable}`,
      `2:228: heartbeat.http_config.oauth2.tls_config.insecure_skip_verify: ${readable}`,
    ],
    ['web: { auth: { bearer_token: changeme } }', `2:30: web.auth.bearer_token: ${guess}`],
    ['web: { auth: { bearer_token: aaaaaaaaaaaaaaaaaaaaaaaa } }', `2:30: web.auth.bearer_token: ${guess}`],
    [
      'web: { auth: { tokens: [{ token: 0123456789abcdef, scopes: [read] }, { token: "12345678", scopes: [write] }] } }',
      `2:79: web.auth.tokens[1].token: ${guess}`,
    ],
    // A proxy with very many addresses.
    [
      'web: { auth: { proxy: { trusted: [10.0.0.0/8, 128.0.0.0/1, "fd00::/8", "2000::/3"] } } }',
      `2:47: web.auth.proxy.trusted[1]: ${many}`,
      `2:72: web.auth.proxy.trusted[3]: ${many}`,
    ],
  ]);
});

test('two regions that are one', () => {
  const region = '{ base_url: https://eu.example.com/api-rest, token: t0 }';
  expect(warningsOf(`regions:\n  eu: ${region}\n  us: ${region}\n`)).toEqual([
    '3:19: regions.us.base_url: is watched as eu already, with the same token: everything would be told twice',
  ]);
  expect(warningsOf(`regions:\n  eu: ${region}\n  us: ${region.replace('t0', 't1')}\n`)).toEqual([]);
});
